"""A live run: the streaming query, and how far it is behind."""
