"""Clicks beside ten million records of history; prints when the clicks were committed meanwhile.

Arguments: checkpoint directory. The session is made by the job, as `penstock run` does.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, DiscardingSink, HybridSource
from penstock.observe.events.job_events import JobEvent, MicroBatch, RunFinished, RunStarted
from penstock.observe.events.listeners import JobListener, also_listening

HISTORY = 10_000_000
NO_TIME = WatermarkStrategy.no_watermarks()


class Times(JobListener):
    """Keeps when micro-batches of clicks were committed, and when history began and ended."""

    def __init__(self) -> None:
        self.clicks: list[tuple[float, float]] = []
        self.history: list[float] = []
        self.records = 0

    def on_event(self, event: JobEvent) -> None:
        now = time.monotonic()
        if isinstance(event, MicroBatch) and event.pipeline == "1":
            self.clicks.append((now, event.seconds))
        elif isinstance(event, RunStarted) and event.name == "history":
            self.history.append(now)
        elif isinstance(event, RunFinished) and event.name == "history":
            self.history.append(now)
            self.records = event.records


def main(directory: str) -> None:
    """Run the job until history is through."""
    settings = {
        "parallelism.default": 2,
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.interval-during-backlog": "0",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    history = DataGeneratorSource(lambda i: i % 1000, count=HISTORY)
    orders = HybridSource.builder(history).add_source(DataGeneratorSource(lambda i: i, count=1))
    env.from_source(orders.build(), NO_TIME, "orders", type_info=Types.LONG()).key_by(
        lambda n: n
    ).reduce(max).sink_to(DiscardingSink())
    clicks = DataGeneratorSource(lambda i: i, records_per_second=100)
    env.from_source(clicks, NO_TIME, "clicks").key_by(lambda n: n % 7).reduce(max).sink_to(
        DiscardingSink()
    )
    times = Times()
    with also_listening(times):
        client = env.execute_async("long history")
        while len(times.history) < 2:
            time.sleep(0.1)
            if client.get_job_execution_result().done():
                client.get_job_execution_result().result()
        client.cancel()
    begin, end = times.history
    during = [(at, seconds) for at, seconds in times.clicks if begin <= at <= end]
    told = {
        "history_records": times.records,
        "history_seconds": end - begin,
        "micro_batches_during_history": len(during),
        "seconds": [seconds for _, seconds in during],
        "gaps": [after - before for (before, _), (after, _) in pairwise(during)],
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
