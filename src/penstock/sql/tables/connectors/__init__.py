"""The connectors of CREATE TABLE, one per file."""
