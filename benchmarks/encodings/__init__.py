"""Encodings of rows that coded rows are compared with."""
