"""Source and sink of PostgreSQL."""
