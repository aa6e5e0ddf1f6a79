"""Checks of a machine: what jobs need, what there is, and what to do about the difference."""
