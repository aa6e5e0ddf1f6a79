"""The command line: `penstock run`, `plan`, `demo` and `config`."""
