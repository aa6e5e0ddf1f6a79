"""How records go from one operator to the next within a task."""
