"""Checks whether a plan fits the stored state of its job."""
