"""The vocabulary of graph, plan and runtime: what is decided before a record is read, as values."""
