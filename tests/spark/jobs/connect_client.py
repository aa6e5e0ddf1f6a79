"""What a client of Spark Connect can do. Arguments: address of the server, directory. The output is a line of JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError
from penstock.testing import collect


def main(address: str, directory: Path) -> None:
    """Build, plan and test a program over a DataFrame of Connect; then try to run it."""
    spark = SparkSession.builder.remote(address).getOrCreate()
    frame = spark.range(3)
    told: dict[str, Any] = {"session": type(spark).__module__, "rows": frame.count()}

    settings = Configuration.from_dict({"execution.checkpointing.dir": str(directory / "job")})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    row = Types.ROW_NAMED(["id"], [Types.LONG()])
    numbers = env.from_dataframe(frame, type_info=row)
    numbers.map(lambda each: each.id + 1, Types.LONG()).print()
    told["explain"] = env.explain()
    told["nodes"] = len(json.loads(env.get_execution_plan())["nodes"])
    try:
        env.execute("over connect")
    except PenstockError as error:
        told |= {"code": error.code, "problem": error.problem, "hint": error.hint}

    tested = StreamExecutionEnvironment.get_execution_environment()
    told["collected"] = collect(tested.from_collection([1, 2]).map(lambda each: each * 2))
    told["files"] = sorted(path.name for path in directory.rglob("*") if path.is_file())
    spark.stop()
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
