"""Keyed state: handles, schemas, state backends, the change log and savepoints."""
