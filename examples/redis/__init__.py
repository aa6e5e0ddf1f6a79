"""A stream of orders, and totals in hashes: a program, and what it needs to be shown."""
