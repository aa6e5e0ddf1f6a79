"""Runs systems in turn and measures them from outside."""
