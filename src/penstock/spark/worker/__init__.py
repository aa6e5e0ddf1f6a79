"""Worker side of a job: what Spark calls in Python."""
