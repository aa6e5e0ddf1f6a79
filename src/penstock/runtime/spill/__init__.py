"""What does not fit in memory, on disk."""
