"""Source and sink of Redis and Valkey."""
