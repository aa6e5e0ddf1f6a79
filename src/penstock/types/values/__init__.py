"""Kinds of values: their components, and their copies."""
