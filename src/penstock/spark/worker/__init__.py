"""The workers of a job: the Python functions that Spark calls."""
