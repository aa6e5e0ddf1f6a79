"""Reading the state of a job without its program."""
