"""A server of PostgreSQL, for demos and tests."""
