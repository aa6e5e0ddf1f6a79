"""The planner: pure phases from the logical graph to the physical plan."""
