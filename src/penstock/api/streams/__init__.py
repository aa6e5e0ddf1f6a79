"""Handles of streams: the verbs of a program."""
