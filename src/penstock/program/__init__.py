"""The vocabulary of graph, plan and runtime: frozen values that are decided before a record is read."""
