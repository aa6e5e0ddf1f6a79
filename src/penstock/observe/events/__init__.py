"""Events of a job, their listeners, the log they are written to, and their sums."""
