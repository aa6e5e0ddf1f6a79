"""The command line: `penstock run`, `plan`, `doctor` and others."""
