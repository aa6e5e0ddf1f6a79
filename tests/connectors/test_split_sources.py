"""Split sources keep their promise: one record per position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, NumberSequenceSource, SplitSource
from penstock.errors import SourceError
from penstock.testing import run_in_process
from penstock.types import TypeInformation


class Unsteady(SplitSource):
    """Gives `surplus` more records than it was asked for."""

    kind = "unsteady"

    def __init__(self, surplus: int) -> None:
        self.surplus = surplus

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, 10)]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return list(range(start, end + self.surplus))


@pytest.mark.parametrize("surplus", [-1, 1, -10])
def test_a_source_that_gives_too_many_or_too_few_records_is_refused(surplus: int) -> None:
    conf = Configuration.from_dict({"execution.runtime-mode": "BATCH"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    stream = env.from_source(Unsteady(surplus), WatermarkStrategy.no_watermarks(), "unsteady")
    stream.sink_to(DiscardingSink())
    with pytest.raises(SourceError, match=r"records for the \d+ positions \[0, "):
        run_in_process(env)


def test_a_sequence_gives_one_record_per_position() -> None:
    assert NumberSequenceSource(5, 9).read_exactly(0, 1, 4) == ([6, 7, 8], None)
