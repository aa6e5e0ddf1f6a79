"""From what Spark and Java say of a failure to our errors."""
