"""The records of a key folded into one value."""
