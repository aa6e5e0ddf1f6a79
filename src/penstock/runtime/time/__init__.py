"""Watermarks, timers and backlog of subtasks."""
