"""A live run: the streaming query, and its pending input."""
