"""Windows: assigners, triggers and evictors."""
