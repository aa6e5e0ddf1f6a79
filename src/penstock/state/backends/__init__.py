"""The state backends: they store the local copy of keyed state in a worker."""
