"""Evaluates typed expressions with the kernels of pyarrow, in a worker."""
