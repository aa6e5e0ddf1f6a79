"""State read from outside of a job."""
