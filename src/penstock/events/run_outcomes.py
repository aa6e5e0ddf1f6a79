"""End of a run."""

DONE = "done"
STOPPED = "stopped"
"""Those of `RunFinished`."""

RUNNING = "running"
FAILED = "failed"
LOST = "lost"
"""End of a run whose driver was killed."""
