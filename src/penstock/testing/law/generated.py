"""Inputs that are made from a sample: skewed keys, repeated deliveries, another order within the allowed one, nulls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

from penstock.testing.law.samples import Inputs, Sample
from penstock.types.records import record_values
from penstock.types.row import Row, names_of

Change = Callable[[Sample, random.Random], Sample]
"""Returns other records that a source could have had."""


def variants(inputs: Inputs, seed: int) -> Iterator[Inputs]:
    """Yield other inputs for ever, one change after the other."""
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    for change in cycle(CHANGES):
        yield {source: change(sample, rng) for source, sample in inputs.items()}


def _skewed(sample: Sample, rng: random.Random) -> Sample:
    """Return the sample with one record ten times: its key has most records."""
    often = rng.randrange(len(sample)) if sample else -1
    return tuple(
        element
        for at, each in enumerate(sample)
        for element in ([each] * 10 if at == often else [each])
    )


def _repeated(sample: Sample, rng: random.Random) -> Sample:
    """Return the sample with some records twice, as after a repeated delivery."""
    return tuple(
        element
        for each in sample
        for element in ([each, each] if rng.random() < 0.3 else [each])  # noqa: PLR2004 - some
    )


def _thinned(sample: Sample, rng: random.Random) -> Sample:
    """Return some of the records."""
    return tuple(element for element in sample if rng.random() < 0.5)  # noqa: PLR2004 - half


def _with_nulls(sample: Sample, rng: random.Random) -> Sample:
    """Return rows of which some have a None in a field in which another row has one."""
    fields = _nullable_fields(sample)
    return tuple(
        replace(element, value=_without_field(element.value, rng.choice(fields)))
        if fields and rng.random() < 0.3  # noqa: PLR2004 - some
        else element
        for element in sample
    )


def _nullable_fields(sample: Sample) -> list[str]:
    rows = [element.value for element in sample if isinstance(element.value, Row)]
    names = names_of(rows[0]) if rows else None
    values = [record_values(row, names) for row in rows] if names else []
    return [name for at, name in enumerate(names or ()) if any(row[at] is None for row in values)]


def _without_field(row: Any, name: str) -> Any:
    return Row(**{**row.as_dict(), name: None})


CHANGES: tuple[Change, ...] = (_repeated, _skewed, _thinned, _with_nulls)
"""The changes, in the order in which they are used."""
