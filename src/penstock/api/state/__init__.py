"""State as functions see it, and its descriptors."""
