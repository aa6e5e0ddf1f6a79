"""Lines of JSON, CSV and text files: which sources are read by lines, and how lines become records."""
