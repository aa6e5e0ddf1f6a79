"""Relations: the one tree of a query, which operators or Spark SQL compute."""
