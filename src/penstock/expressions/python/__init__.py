"""Scalar expressions: values computed of the columns of one row."""
