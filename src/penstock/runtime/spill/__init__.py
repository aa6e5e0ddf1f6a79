"""Storage on disk for data that does not fit in memory."""
