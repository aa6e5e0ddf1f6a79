"""How a run has ended."""

DONE = "done"
STOPPED = "stopped"
"""Those of `RunFinished`."""

RUNNING = "running"
FAILED = "failed"
LOST = "lost"
"""Of a run whose driver was killed."""
