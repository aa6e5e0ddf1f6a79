"""Where a worker keeps its local copy of keyed state."""
