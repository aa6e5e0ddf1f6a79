"""The Spark session a job runs in, and what a job sets in it."""
