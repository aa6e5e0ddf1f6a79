"""The driver of a job: its runs, sinks, restarts and restores."""
