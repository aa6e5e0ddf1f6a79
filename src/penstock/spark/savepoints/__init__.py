"""Savepoints: asked for, taken, made offline."""
