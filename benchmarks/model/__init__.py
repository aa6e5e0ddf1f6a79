"""What all parts share: a program, its size, what was measured, digests of outputs."""
