"""Runs plans on Apache Spark. No other package imports pyspark."""
