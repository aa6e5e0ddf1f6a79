"""Reads sources as DataFrames."""
