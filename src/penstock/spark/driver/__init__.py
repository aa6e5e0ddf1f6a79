"""Driver side of a job: its runs, their sinks, its starts."""
