"""Relations: the one tree of what a query asks for, which operators or Spark SQL compute."""
