"""The state handles of functions, one file per kind."""
