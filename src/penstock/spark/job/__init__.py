"""The job directory: who owns it, and what it says of the job."""
