"""The checkpoint directory of a job: its owner, and its records."""
