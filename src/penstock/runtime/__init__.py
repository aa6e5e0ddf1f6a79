"""The runtime: it executes the programs of levels in Python workers. It never imports pyspark."""
