"""The states that functions see: one file per kind."""
