"""Expressions of columns: one tree, its typing rules, and its evaluation with Arrow kernels."""
