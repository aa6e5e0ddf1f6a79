"""State handles of functions, and state descriptors."""
