"""Folds, and the places where they happen, as frozen values."""
