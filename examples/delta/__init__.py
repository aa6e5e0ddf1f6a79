"""A Delta table that is read while it grows: a program, and what it needs to be shown."""
