"""Source and sink of Delta tables."""
