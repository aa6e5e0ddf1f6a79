"""Translates failures of Spark and Java to our errors."""
