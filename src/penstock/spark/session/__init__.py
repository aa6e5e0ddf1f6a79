"""The Spark session of a job, and the job's settings in it."""
