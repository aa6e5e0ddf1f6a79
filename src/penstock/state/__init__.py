"""Keyed state: where it lives in a worker, and the form in which it is kept."""
