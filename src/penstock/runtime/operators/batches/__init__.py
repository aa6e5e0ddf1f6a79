"""Operators whose functions take the columns of many records."""
