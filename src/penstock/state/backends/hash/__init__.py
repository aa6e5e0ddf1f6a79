"""State as Python objects in dictionaries of the worker."""
