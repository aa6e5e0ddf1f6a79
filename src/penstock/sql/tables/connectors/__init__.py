"""The connectors that CREATE TABLE knows, one per file."""
