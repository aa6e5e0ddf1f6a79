"""The last level of a batch run and the sinks share a worker process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.datastream.connectors import SinkWriter
from tests.spark.epoch_sink import EpochSink

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class ProcessSink(EpochSink):
    """Writes beside each record which process wrote it."""

    def create_writer(self, context: Any) -> SinkWriter:
        return _Writer()


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._rows: list[Any] = []

    def write(self, values: list[Any]) -> None:
        self._rows += [(value, os.getpid()) for value in values]

    def prepare_commit(self) -> list[Any]:
        return self._rows

    def abort(self) -> None:
        self._rows = []


def test_sinks_of_a_batch_run_write_where_the_last_level_works(environment, tmp_path):
    env = environment("batch")
    sink = ProcessSink(tmp_path / "out")
    keyed = env.from_collection(list(range(20))).key_by(lambda n: n % 5)
    keyed.map(lambda _: os.getpid()).sink_to(sink)
    env.execute()
    ((*written,),) = sink.epochs()
    assert len(written) == 20
    assert all(worked == wrote != os.getpid() for worked, wrote in written)
