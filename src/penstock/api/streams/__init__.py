"""Handles of streams: the operations of a program."""
