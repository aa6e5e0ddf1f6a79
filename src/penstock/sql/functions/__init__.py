"""Functions that run in workers and keep state for a relation. They do not depend on sqlglot."""
