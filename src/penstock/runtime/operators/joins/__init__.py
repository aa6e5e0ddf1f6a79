"""Interval joins and regular joins."""
