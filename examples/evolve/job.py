"""The flights demo's program as a job that is changed while it runs.

    penstock run -D execution.checkpointing.dir=OLD examples/evolve/job.py DATA OUT
    penstock upgrade OLD NEW examples/evolve/job.py -- DATA OUT --routes

DATA has departures in `history` and `live`, as `penstock demo` prepares them.
"""

import sys
from pathlib import Path

from examples.demo.job import DEPARTURE, build
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource, HybridSource

data, out = map(Path, sys.argv[1:3])
settings = Configuration().set("execution.history", "batch").set("parallelism.default", 2)
env = StreamExecutionEnvironment(settings)
live = FileSource.parquet(data / "live", DEPARTURE).monitor_continuously()
source = HybridSource.builder(FileSource.parquet(data / "history", DEPARTURE)).add_source(live)
build(env, source.build(), out, has_routes="--routes" in sys.argv)
env.execute("departures")
