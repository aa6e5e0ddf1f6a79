"""Rows as text: JSON and CSV."""
