"""A feature is added to a running job: `make evolve-demo`."""
