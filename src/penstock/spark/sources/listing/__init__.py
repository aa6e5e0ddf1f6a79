"""The files of a source now, and their order in a live run."""
