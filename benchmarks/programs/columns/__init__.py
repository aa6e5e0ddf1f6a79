"""Programs on columns, beside Spark SQL."""
