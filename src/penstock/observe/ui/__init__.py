"""The server in the driver: the page of jobs, and metrics for monitoring systems."""
