"""State in a memory-mapped file that the workers of a host share."""
