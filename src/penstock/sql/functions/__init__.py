"""Functions that run in workers: what keeps state for a relation. They know nothing of sqlglot."""
