"""The environment of a program, its settings, and jobs."""
