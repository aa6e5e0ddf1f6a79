"""From sources to DataFrames."""
