"""What programs compute, in plain Python and NumPy, for peers and for the check of outputs."""
