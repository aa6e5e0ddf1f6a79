"""The entry points: what Spark calls for a task, and what is made for it."""
