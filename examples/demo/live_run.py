"""Runs the demo's program on history and on files that arrive meanwhile, then stops it."""

from __future__ import annotations

import time

from examples.demo.errors import DemoDataError, DemoStalledError
from examples.demo.feeder import Feeder
from examples.demo.job import DEPARTURE, build
from examples.demo.layout import Layout
from examples.demo.story import Story, StoryListener
from penstock.common import Configuration, JobClient, JobStatus
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource, HybridSource
from penstock.observe.events.listeners import also_listening

STALL_SECONDS = 300.0
"""Without any event for so long, the job is given up."""

_POLL_SECONDS = 0.2


def run_live(layout: Layout, configuration: Configuration, live_records: int) -> Story:
    """Run the job until it has processed everything, and stop it cleanly.

    Args:
        layout: The prepared files, and where results go.
        configuration: Settings; the checkpoint directory and the batch run of history are
            added.
        live_records: Records in the files that arrive.

    Raises:
        PenstockError: The job failed, or the files could not be delivered.
    """
    settings = Configuration(configuration)
    settings.set("execution.checkpointing.dir", str(layout.checkpoint))
    settings.set("execution.history", "batch")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    live = FileSource.parquet(str(layout.live), DEPARTURE).monitor_continuously()
    history = FileSource.parquet(str(layout.history), DEPARTURE)
    build(env, HybridSource.builder(history).add_source(live).build(), layout.out)

    listener = StoryListener(live_records)
    feeder = Feeder(layout.feed_files(), layout.live)
    with also_listening(listener):
        try:
            # The rest follows once the first is processed, so that it meets a job at work.
            feeder.start(listener.first_processed)
            client = env.execute_async("departures")
            try:
                _wait(client, listener, feeder)
            finally:
                client.cancel()
        finally:
            feeder.stop()
    if client.get_job_status().result() is not JobStatus.CANCELED:
        client.get_job_execution_result().result()  # raises what went wrong
    return listener.story


def _wait(client: JobClient, listener: StoryListener, feeder: Feeder) -> None:
    # Not by a callback: the listener runs in the job's own thread, which cannot stop itself.
    while not listener.all_processed.wait(_POLL_SECONDS):
        if client.get_job_status().result().is_globally_terminal_state():
            return
        if feeder.error is not None:
            raise DemoDataError(
                f"a live file could not be delivered: {feeder.error}",
                hint="Make room in the data directory, or choose another one.",
            ) from feeder.error
        silent_seconds = time.monotonic() - listener.last_event
        if silent_seconds > STALL_SECONDS:
            raise DemoStalledError(
                f"the job has said nothing for {silent_seconds:.0f} s",
                hint="Look at the log of the job, or give it fewer subtasks with --parallelism.",
            )
