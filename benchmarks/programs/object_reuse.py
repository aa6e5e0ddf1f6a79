"""`object-reuse`: what copies between chained operators cost. A chain of 10 maps over wide records.

record i = {"f0": i, "f1": i + 1, … "f19": i + 19}     then 10 maps, the n-th adds 1 to field n in
                                                      place, and one that sums these 10 fields

All systems run the same functions. In `default` and `reuse` they promise that they keep nothing of
what they emit, so the planner copies nothing, as little as with `pipeline.object-reuse`. In
`conservative` they promise nothing, as all function objects do unless they say otherwise, so every
record is copied behind every map.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.inputs.sources import generated
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import BenchSystem, Outputs
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, ours
from penstock.datastream import DataStream, MapFunction, StreamExecutionEnvironment

RECORDS = 4_000_000
"""Enough that the start of a live run is a small part of a round."""

MAPS = "maps"
KEEPS = "functions-may-keep"
REUSE = {"pipeline.object-reuse": "true"}
CONSERVATIVE = {f"pipeline.global-job-parameters.{KEEPS}": "true"}

_NAMES = tuple(f"f{number}" for number in range(20))


def record(index: int) -> dict[str, int]:
    """Return the record of an index."""
    return dict(zip(_NAMES, range(index, index + len(_NAMES)), strict=True))


class AddOne(MapFunction[dict[str, int], dict[str, int]]):
    """Adds 1 to a field, in place."""

    def __init__(self, number: int, *, may_keep: bool) -> None:
        """Bind.

        Args:
            number: Of the field.
            may_keep: Make no promise.
        """
        self._name = _NAMES[number]
        self._may_keep = may_keep

    def map(self, value: dict[str, int]) -> dict[str, int]:
        """Change a record."""
        value[self._name] += 1
        return value

    def is_output_value_stored(self) -> bool:
        """Return what was asked for."""
        return self._may_keep


class Sum(MapFunction[dict[str, int], int]):
    """Sums the first fields."""

    def __init__(self, fields: int) -> None:
        """Bind.

        Args:
            fields: How many.
        """
        self._names = _NAMES[:fields]

    def map(self, value: dict[str, int]) -> int:
        """Return the sum."""
        return sum(map(value.__getitem__, self._names))


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the sums."""
    may_keep = KEEPS in env.get_config().get_global_job_parameters()
    maps = shape.parameters[MAPS]
    stream: DataStream[Any] = generated(env, shape, record)
    for number in range(maps):
        stream = stream.map(AddOne(number, may_keep=may_keep))
    return stream.map(Sum(maps))


def expected(shape: Shape) -> Outputs:
    """Compute the sums."""
    maps = shape.parameters[MAPS]
    indexes = np.arange(shape.records, dtype=np.int64)
    sums = maps * indexes + maps * (maps - 1) // 2 + maps
    return Outputs(shape.records, as_text(digest_of(sums)))


def systems(mode: str, *, by_default: bool = True) -> tuple[BenchSystem, ...]:
    """Return our systems of a mode."""
    return (
        ours(mode, "default", note="Functions promise.", by_default=by_default),
        ours(mode, "reuse", note="Nothing is ever copied.", by_default=by_default, **REUSE),
        ours(mode, "conservative", note="No promises.", by_default=by_default, **CONSERVATIVE),
    )


PROGRAM = Pipeline(
    name="object-reuse",
    summary="a chain of 10 maps over dicts of 20 fields: default, object reuse, all conservative",
    build=build,
    expected=expected,
    systems=(*systems(STREAMING), *systems(BATCH, by_default=False)),
    reference="penstock streaming default",
    records=RECORDS,
    keys=1,
    options={MAPS: 10},
).program()
