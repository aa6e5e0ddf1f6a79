"""Savepoints: requesting them, taking them, and making them offline."""
