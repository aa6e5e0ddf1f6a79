"""The user's program as a value: nodes, and the contracts of sources and sinks."""
