"""Sources and sinks made of Python values and functions."""
