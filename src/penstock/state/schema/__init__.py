"""The schemas of stored entries, and their evolution."""
