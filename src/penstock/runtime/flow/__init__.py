"""The flow of records between operators of a task."""
