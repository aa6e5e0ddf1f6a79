"""`cold`: what `cold_batch.py` does, in PySpark."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

cores = int(sys.argv[1])
session = (
    SparkSession.builder.master(f"local[{cores}]").config("spark.log.level", "OFF").getOrCreate()
)
pairs = session.sparkContext.parallelize([(n % 5, n) for n in range(1000)], cores)
for pair in pairs.reduceByKey(lambda a, b: a + b, cores).collect():
    sys.stdout.write(f"{pair}\n")
session.stop()
