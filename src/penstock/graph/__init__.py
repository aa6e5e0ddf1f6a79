"""The graph of the user's program: nodes, and the contracts of sources and sinks."""
