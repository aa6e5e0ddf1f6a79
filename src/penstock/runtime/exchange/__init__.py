"""The exchange: writing records of a task into frames, and reading them in another task."""
