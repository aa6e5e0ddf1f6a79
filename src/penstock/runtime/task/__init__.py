"""The entry points of the runtime, which Spark calls for tasks, and the classes of a task."""
