"""Sources and sinks of Python values and functions."""
