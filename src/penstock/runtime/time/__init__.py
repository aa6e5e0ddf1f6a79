"""Watermarks, timers and backlog: what subtasks know of time."""
