"""The types of stored entries, and how entries of an older type are read."""
