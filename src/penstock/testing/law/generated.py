"""Inputs that are made from a sample: other records that its sources could have had."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from penstock.graph.logical import LogicalGraph
from penstock.program.operators import SOURCE
from penstock.testing.law.event_time import EventTime, event_time
from penstock.testing.law.exceptions import is_undeclared
from penstock.testing.law.record_texts import parts_of, with_changed_parts
from penstock.testing.law.samples import Inputs, Sample
from penstock.types import TypeInformation

_SOME = 0.3
"""Share of the records that a change is about."""

_GREATEST_FORM = 1 << 53
"""Integers up to here are equal to a float."""


@dataclass(frozen=True, slots=True)
class SampledSource:
    """The facts about a source that its records do not contain.

    Attributes:
        time: Their event time; None if it is that of results of functions.
    """

    type_info: TypeInformation
    time: EventTime | None


Change = Callable[[Sample, SampledSource, random.Random], Sample]
"""Returns other records that a source could have had; the sample itself if it makes none."""


def variants(graph: LogicalGraph, inputs: Inputs, seed: int) -> Iterator[Inputs]:
    """Yield other inputs for ever, one change after the other."""
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    sources = {
        node.id: SampledSource(node.type_info, event_time(graph, node))
        for node in graph.of_kind(SOURCE)
    }
    for change in cycle(CHANGES):
        other = {source: change(sample, sources[source], rng) for source, sample in inputs.items()}
        if any(other[source] is not sample for source, sample in inputs.items()):
            yield other


def _skewed(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return the sample with one record ten times: its key has most records."""
    del source
    often = rng.randrange(len(sample)) if sample else -1
    return tuple(
        element
        for index, record in enumerate(sample)
        for element in ([record] * 10 if index == often else [record])
    )


def _repeated(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return the sample with some records twice, as after a repeated delivery."""
    del source
    return tuple(
        element for record in sample for element in ([record] * (1 + (rng.random() < _SOME)))
    )


def _thinned(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return some of the records."""
    del source
    return tuple(element for element in sample if rng.random() < 0.5)  # noqa: PLR2004 - half


def _with_nulls(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return records of which some have a None where another record has one."""
    del source
    parts = [parts_of(element.value) for element in sample]
    nullable = {place for record in parts for place in record if record[place] is None} - {None}

    def null(record: dict[Any, Any]) -> dict[Any, Any]:
        places = [place for place in record if place in nullable]
        return {rng.choice(places): None} if places else {}

    return _changed(sample, null, rng) if nullable else sample


def _disordered(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return the records in another order of time, within the bound of the watermark strategy."""
    bound = 0 if source.time is None else source.time.out_of_orderness
    return sample if bound == 0 else _delayed(sample, source, bound, 1.0, rng)


def _late(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return the records with some so much later than others that the watermark has overtaken them."""
    times = [] if source.time is None else list(map(source.time.of, sample))
    span = max(times, default=0) - min(times, default=0)
    if source.time is None or span == 0:
        return sample
    return _delayed(sample, source, source.time.out_of_orderness + span, _SOME, rng)


def _delayed(
    sample: Sample, source: SampledSource, most: int, share: float, rng: random.Random
) -> Sample:
    """Return the records in order of arrival, some of which are delayed."""
    time = source.time
    assert time is not None, "the callers look"
    arrivals = {
        index: time.of(element) + (rng.randint(0, most) if rng.random() < share else 0)
        for index, element in enumerate(sample)
    }
    return tuple(sample[index] for index in sorted(arrivals, key=arrivals.__getitem__))


def _in_other_forms(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return records with equal numbers of other classes, as 1.0 and True for 1, if no type declares one."""

    def other(record: dict[Any, Any]) -> dict[Any, Any]:
        return {
            place: rng.choice((float(value), bool(value) if value in (0, 1) else value))
            for place, value in record.items()
            if type(value) is int and abs(value) <= _GREATEST_FORM
        }

    return _changed(sample, other, rng) if is_undeclared(source.type_info) else sample


def _widened(sample: Sample, source: SampledSource, rng: random.Random) -> Sample:
    """Return records with numbers beyond those observed, of the same sign and of the declared type, in order of time."""
    if source.time is None:
        return sample
    ranges: dict[Any, tuple[Any, Any]] = {}
    for element in sample:
        for place, value in parts_of(element.value).items():
            if type(value) in (int, float) and math.isfinite(value):
                low, high = ranges.get(place, (value, value))
                ranges[place] = min(low, value), max(high, value)

    def beyond(record: dict[Any, Any]) -> dict[Any, Any]:
        places = [key for key in record if key in ranges and type(record[key]) in (int, float)]
        key = rng.choice(places) if places else None
        return {key: type(record[key])(_beyond(*ranges[key], rng))} if places else {}

    widened = _changed(sample, beyond, rng)
    fitting = tuple(
        element if _fits(source.type_info, element.value) else before
        for element, before in zip(widened, sample, strict=True)
    )
    return source.time.in_order(fitting) if ranges else sample


def _beyond(low: Any, high: Any, rng: random.Random) -> Any:
    """Return a number below or above a range; not 0 and not negative unless the range has such."""
    width = max(1, high - low)
    below = low - width if low < 0 else low // 2 if low > 1 else low
    return rng.choice((below, high + 1, high + width))


def _fits(type_info: TypeInformation, value: Any) -> bool:
    try:
        type_info.coerce(value)
    except ValueError:
        return False
    return True


def _changed(
    sample: Sample, change: Callable[[dict[Any, Any]], dict[Any, Any]], rng: random.Random
) -> Sample:
    """Return the sample with parts of some records replaced; itself if nothing changes."""
    return with_changed_parts(sample, lambda parts: change(parts) if rng.random() < _SOME else {})


CHANGES: tuple[Change, ...] = (
    _repeated,
    _skewed,
    _disordered,
    _in_other_forms,
    _widened,
    _late,
    _thinned,
    _with_nulls,
)
"""The changes, in the order in which they are used."""
