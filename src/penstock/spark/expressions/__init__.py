"""Expressions of columns as Spark SQL computes them."""
