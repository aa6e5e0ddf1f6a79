"""What is made at the switch of a hybrid source: what its factory is told, in every mode, and what is refused.

Finds a switch that depends on the mode, and a factory whose mistake is no clear error. Cannot find what is recorded of
it: see `tests/spark/test_source_switch.py`.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream.connectors import (
    DiscardingSink,
    HybridSource,
    NumberSequenceSource,
    SourceSwitch,
)
from penstock.errors import ArgumentError, PenstockError, SourceError
from penstock.graph.source import Source
from penstock.graph.source_switch import SwitchColumns, SwitchedSource, switch_after
from penstock.testing import run_in_process
from tests.log_world import WorldLog
from tests.runtime.jobs import BATCH, MIXED, STREAMING, environment

MODES = pytest.mark.parametrize(
    "mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"]
)
ANY = Types.PICKLED_BYTE_ARRAY()
HISTORY = [{"at": 10, "n": 0}, {"at": 30, "n": 2}, {"at": 20, "n": 1}]
LIVE = {"a": {0: {"at": 20, "n": 9}, 1: {"at": 31, "n": 3}, 4: {"at": 33, "n": 4}}}


def from_time(switch: SourceSwitch) -> WorldLog:
    """Return a log of what is behind the history."""
    records = {at: value for at, value in LIVE["a"].items() if value["at"] >= switch.next_timestamp}
    return WorldLog.of({"a": records}, bounded=True, stamped=False)


def history(records: list[Any]) -> CollectionSource:
    return CollectionSource(tuple(records), ANY)


def run(source: Source, mode: dict[str, str]) -> list[Any]:
    env = environment(mode)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    stream.sink_to(DiscardingSink()).name("out")
    return run_in_process(env).of("out")


@MODES
def test_what_follows_begins_where_history_ends(mode: dict[str, str]) -> None:
    builder = HybridSource.builder(history(HISTORY))
    source = builder.add_source(from_time, timestamp="at", is_bounded=True).build()
    assert sorted(record["n"] for record in run(source, mode)) == [0, 1, 2, 3, 4]


@MODES
def test_a_factory_is_told_positions_by_split(mode: dict[str, str]) -> None:
    told = []

    def live(switch: SourceSwitch) -> WorldLog:
        told.append(switch)
        return WorldLog.of({}, bounded=True, stamped=False)

    records = [{"p": 1, "o": 5}, {"p": 0, "o": 7}, {"p": 1, "o": 3}, {"p": None, "o": 9}]
    builder = HybridSource.builder(history(records))
    asked = builder.add_source(live, position="o", split="p", is_bounded=True)
    assert len(run(asked.build(), mode)) == 4
    assert told == [SourceSwitch(None, ((0, 7), (1, 5)))]
    assert told[0].next_positions == {0: 8, 1: 6}


def test_timestamps_of_the_source_are_taken_if_no_column_is_named() -> None:
    told = []

    def live(switch: SourceSwitch) -> WorldLog:
        told.append(switch.end_timestamp)
        return WorldLog.of({}, bounded=True)

    before = WorldLog.of({"a": {0: ("x", 7), 3: ("y", 9)}, "b": {1: ("z", 8)}}, bounded=True)
    run(HybridSource.builder(before).add_source(live, is_bounded=True).build(), BATCH)
    assert told == [9]


def test_a_source_may_be_made_behind_one_that_was_made() -> None:
    def second(switch: SourceSwitch) -> WorldLog:
        assert switch.end_timestamp == 33
        return WorldLog.of({"z": {0: {"at": 40, "n": 5}}}, bounded=True, stamped=False)

    builder = HybridSource.builder(history(HISTORY))
    builder = builder.add_source(from_time, timestamp="at", is_bounded=True)
    source = builder.add_source(second, timestamp="at", is_bounded=True).build()
    for mode in (BATCH, STREAMING, MIXED):
        assert sorted(record["n"] for record in run(source, mode)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("values", "end"),
    [
        ([], None),
        ([None], None),
        ([1, None, 5], 5),
        ([datetime(1970, 1, 1, 0, 0, 1, 2_999)], 1_002),  # noqa: DTZ001 - of no zone
        ([datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], 1_000),
    ],
)
def test_times_are_numbers_or_timestamps(values: list[Any], end: int | None) -> None:
    batch = [Row(at=value) for value in values]
    found = switch_after([(batch, None)], SwitchColumns("at"), "rows", None)
    assert found == SourceSwitch(end)
    assert SourceSwitch.from_json(found.to_json()) == found


def test_switches_survive_their_record() -> None:
    switch = SourceSwitch(5, (("a", 1), ("b", 2)))
    assert SourceSwitch.from_json(switch.to_json()) == switch
    assert switch.end_positions == {"a": 1, "b": 2}
    assert Counter(SourceSwitch().next_positions) == Counter()


class Captured(WorldLog):
    """A log with a snapshot."""

    def snapshot(self, directory: Path) -> None:
        raise AssertionError(directory)


def refused(switch: SourceSwitch) -> Any:
    raise ValueError(f"no source at {switch.end_timestamp}")


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "raises": (refused, {"timestamp": "at"}, "failed on SourceSwitch.*no source at 30"),
    "no log": (
        lambda _: NumberSequenceSource(1, 2),
        {"timestamp": "at"},
        "which is not a log source",
    ),
    "never ends": (
        lambda _: WorldLog.of({}, stamped=False),
        {"timestamp": "at"},
        "which never ends",
    ),
    "takes a snapshot": (
        lambda _: Captured("none", bounded=True),
        {"timestamp": "at"},
        "takes a snapshot when the job starts",
    ),
    "no column": (from_time, {"timestamp": "when"}, "has no column 'when'"),
    "no time": (from_time, {}, "the end of the records of .* is unknown"),
    "text as time": (from_time, {"timestamp": "s"}, "column 's' of .* has 'x', a str"),
}


@pytest.mark.parametrize(("factory", "how", "problem"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_told(factory: Any, how: dict[str, Any], problem: str) -> None:
    records = [{"s": "x", **record} for record in HISTORY]
    builder = HybridSource.builder(history(records)).add_source(factory, is_bounded=True, **how)
    with pytest.raises(SourceError, match=problem) as told:
        run(builder.build(), BATCH)
    assert told.value.origin is not None
    assert told.value.origin.filename == __file__


def test_another_type_is_refused() -> None:
    builder = HybridSource.builder(CollectionSource((1,), Types.INT()))
    later = builder.add_source(lambda _: WorldLog.of({})).build().parts[1]
    assert isinstance(later, SwitchedSource)
    with pytest.raises(SourceError, match="of the type any object, and the sources before"):
        later.made(SourceSwitch(1))
    assert later.describe() == "a source made at the switch"
    assert not later.is_bounded


@pytest.mark.parametrize(
    ("source", "how", "problem"),
    [
        (NumberSequenceSource(1, 2), {"timestamp": "at"}, "and columns of the sources before it"),
        (7, {}, "add_source got 7"),
        (from_time, {"timestamp": 7}, "the column timestamp of a switch is 7"),
        (from_time, {"split": "p"}, "and no positions"),
    ],
)
def test_arguments_are_checked(source: Any, how: dict[str, Any], problem: str) -> None:
    with pytest.raises(PenstockError, match=problem) as told:
        HybridSource.builder(history(HISTORY)).add_source(source, **how)
    assert isinstance(told.value, ArgumentError)
