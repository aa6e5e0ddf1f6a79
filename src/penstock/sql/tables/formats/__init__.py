"""Formats: from messages and lines to rows, and back."""
