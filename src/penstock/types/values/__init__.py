"""Values of every kind: how they are taken apart, put together again, and copied."""
