"""Asynchronous calls of user functions."""
