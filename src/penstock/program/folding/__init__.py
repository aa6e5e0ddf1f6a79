"""Folds and their places, as frozen values."""
