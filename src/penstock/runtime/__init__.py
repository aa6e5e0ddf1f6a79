"""What happens inside a Python worker. Never imports pyspark."""
