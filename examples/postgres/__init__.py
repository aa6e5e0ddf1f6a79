"""A table of PostgreSQL and its changes, kept as totals in another one: a program, and what it needs to be shown."""
