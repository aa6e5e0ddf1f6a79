"""Records of types that a program declares: their serializer writes them wherever they leave a task."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pytest

from penstock.common import Row, Time, TypeInformation, Types, TypeSerializer
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    WatermarkStrategy,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import GlobalWindows, TumblingEventTimeWindows
from penstock.errors import StateError
from penstock.program.fold import Place
from penstock.testing import Schedule, run_in_process
from penstock.types.record_form import record_form
from penstock.wire.frame import FrameHeader, FrameKind, decode_records, encode_records, read_header
from tests.money import Money, MoneyType
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, history_then_live, job

EUR = MoneyType("EUR")
PAYMENT = Types.ROW_NAMED(["who", "at", "paid"], [Types.STRING(), Types.LONG(), EUR])
NUMBERS = list(range(60))
ASIDE = OutputTag("aside", EUR)
SCHEDULES = [Schedule(batch_sizes=(7,)), Schedule(batch_sizes=(3,), restart_every=2, fail_every=3)]


def payment(number: int) -> Row:
    return Row(who="abc"[number % 3], at=number * 1_000, paid=Money(number))


class Sums(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", EUR))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = Money((self.sum.value() or Money(0)).cents + value.paid.cents)
        self.sum.update(total)
        yield Row(who=value.who, at=value.at, paid=total)


class Aside(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ASIDE, value.paid
        yield value


class InWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        cents = [value.paid.cents for value in elements]
        yield Row(who=key, at=min(cents), paid=Money(sum(cents)))


def add(one: Row, other: Row) -> Row:
    return Row(who=one.who, at=other.at, paid=Money(one.paid.cents + other.paid.cents))


def merged(stream: Any) -> Any:
    return stream.union(stream.filter(lambda v: v.at % 2_000 == 0)).rebalance().map(_same, PAYMENT)


def both(first: Any, second: Any) -> Any:
    first, second = list(first), list(second)
    total = sum(v.paid.cents for v in first)
    assert {v.at for v in second} <= {v.at for v in first}
    yield Row(who=first[0].who, at=len(second), paid=Money(total))


def _same(value: Any) -> Any:
    return value


WAYS = {
    "state": lambda s: s.key_by(lambda v: v.who).process(Sums(), PAYMENT),
    "reduce": lambda s: s.key_by(lambda v: v.who).reduce(add),
    "window": lambda s: (
        s.key_by(lambda v: v.who)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .process(InWindow(), PAYMENT)
    ),
    "folded window": lambda s: (
        s.key_by(lambda v: v.who).window(TumblingEventTimeWindows.of(Time.seconds(10))).reduce(add)
    ),
    "window at the end": lambda s: (
        s.key_by(lambda v: v.who)
        .window(GlobalWindows.create_with_end_of_stream_trigger())
        .process(InWindow(), PAYMENT)
    ),
    "co-group window": lambda s: (
        s.co_group(s.filter(lambda v: v.at % 2_000 == 0))
        .where(lambda v: v.who)
        .equal_to(lambda v: v.who)
        .window(GlobalWindows.create_with_end_of_stream_trigger())
        .apply(both, PAYMENT)
    ),
    "union and rebalance": merged,
    "broadcast": lambda s: s.broadcast().map(_same, PAYMENT),
    "unchained": lambda s: s.map(_same, PAYMENT).disable_chaining(),
    "two exchanges": lambda s: (
        s.key_by(lambda v: v.who)
        .process(Sums(), PAYMENT)
        .key_by(lambda v: v.at)
        .process(Sums(), PAYMENT)
    ),
}


def shown(values: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((value.who, value.at, value.paid.cents) for value in values)


def found_by(
    way: str, mode: dict[str, str], schedule: Schedule | None = None, count: int = len(NUMBERS)
) -> list[Any]:
    numbers = list(range(count))
    source = history_then_live(numbers[:40], numbers[40:])
    none = WatermarkStrategy.no_watermarks()
    made = job(
        mode,
        source,
        lambda s: WAYS[way](
            s.map(payment, PAYMENT).assign_timestamps_and_watermarks(
                WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
                    lambda v, _: v.at
                )
            )
        ),
        strategy=none,
    )
    return run_in_process(made, schedule).of("out")


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=["plain", "restarts"])
@pytest.mark.parametrize("way", WAYS)
def test_records_travel_as_the_bytes_of_their_serializer(way, mode, schedule) -> None:
    found = found_by(way, mode, schedule)
    assert len(found) >= 3
    values = [(value.who, value.at, value.paid.cents) for value in found]
    final = {who: cents for who, _, cents in sorted(values)}
    if way in {"state", "reduce"}:
        assert final == {who: sum(NUMBERS[n::3]) for n, who in enumerate("abc")}
    elif "window" in way:
        assert sum(cents for _, _, cents in values) == sum(NUMBERS)
    elif way == "unchained":
        assert sorted(values) == shown(list(map(payment, NUMBERS)))


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_side_outputs_have_a_type_of_their_own(mode) -> None:
    made = job(
        mode,
        history_then_live(NUMBERS[:40], NUMBERS[40:]),
        lambda s: (
            s.map(payment, PAYMENT)
            .process(Aside(), PAYMENT)
            .get_side_output(ASIDE)
            .rebalance()
            .map(lambda money: money.cents, Types.INT())
        ),
        strategy=WatermarkStrategy.no_watermarks(),
    )
    assert sorted(run_in_process(made).of("out")) == NUMBERS


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_results_of_a_bounded_region_are_kept_by_the_serializer(mode) -> None:
    def then(stream: Any) -> Any:
        at_end = (
            stream.key_by(lambda v: v.who)
            .window(GlobalWindows.create_with_end_of_stream_trigger())
            .process(InWindow(), PAYMENT)
        )
        return at_end.key_by(lambda v: v.who).process(Sums(), PAYMENT)

    source = CollectionSource.of(list(map(payment, NUMBERS)), PAYMENT)
    found = run_in_process(job(mode, source, then, strategy=WatermarkStrategy.no_watermarks()))
    assert sorted((v.who, v.paid.cents) for v in found.of("out")) == [
        (who, sum(NUMBERS[n::3])) for n, who in enumerate("abc")
    ]


def test_a_collection_travels_with_its_serializer() -> None:
    source = CollectionSource.of(list(map(payment, NUMBERS)), PAYMENT)
    read = pickle.loads(pickle.dumps(source))
    assert read.values == source.values
    assert read.type_info == PAYMENT


@pytest.mark.parametrize("way", ["state", "window", "window at the end", "co-group window"])
def test_records_that_do_not_fit_in_memory_are_spilled_by_the_serializer(way) -> None:
    mode = BATCH | {"execution.sorted-inputs.memory": "600"}
    found = found_by(way, mode, count=300)
    wanted = found_by(way, BATCH, count=300)
    assert shown(found) == shown(wanted)


def test_they_are_not_folded_before_they_are_received_as_a_group() -> None:
    made = job(
        BATCH,
        CollectionSource.of(list(map(payment, NUMBERS)), PAYMENT),
        lambda s: s.key_by(lambda v: v.who).reduce(add, associative=True, commutative=True),
        strategy=WatermarkStrategy.no_watermarks(),
    )
    plan = made.plan()
    (fold,) = plan.folds
    assert fold.plan.places.isdisjoint({Place.SENDER, Place.RECEIVER_FRAME})
    reasons = " ".join(each.reason for each in plan.decisions)
    assert "a serializer of the program writes the values of" in reasons


class Broken(TypeSerializer[Any]):
    def serialize(self, element: Any, stream: BytesIO) -> None:
        raise LookupError("no room")

    def deserialize(self, stream: BytesIO) -> Any:
        raise LookupError("no sense")


@dataclass(frozen=True)
class BrokenType(TypeInformation[Any]):
    def coerce(self, value: Any) -> Any:
        return value

    def create_serializer(self, config: Any = None) -> TypeSerializer[Any]:
        return Broken()


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("keyed", [True, False])
def test_a_serializer_that_fails_is_named_with_the_line(mode, keyed) -> None:
    def then(stream: Any) -> Any:
        made = stream.map(_same, BrokenType())
        return (made.key_by(lambda v: v) if keyed else made.rebalance()).map(_same)

    made = job(mode, CollectionSource.of([1]), then, strategy=WatermarkStrategy.no_watermarks())
    with pytest.raises(StateError, match="no room") as failed:
        run_in_process(made)
    assert "1 of type BrokenType() was not serialized" in failed.value.problem
    assert failed.value.origin is not None
    assert failed.value.origin.filename == __file__


HEADER = FrameHeader(1, 2, 3, 4, FrameKind.RECORDS, 0)


def test_a_type_of_a_function_is_sent_by_value() -> None:
    @dataclass(frozen=True)
    class Local(MoneyType):
        pass

    frame = encode_records(HEADER, [Money(3), None], [1, 2], record_form(Local("CHF")))
    assert decode_records(read_header(frame), frame) == ([Money(3), None], [1, 2])


def test_a_failure_to_read_is_not_called_damage() -> None:
    class Unreadable(Broken):
        def serialize(self, element: Any, stream: BytesIO) -> None:
            stream.write(b"x")

    @dataclass(frozen=True)
    class UnreadableType(BrokenType):
        def create_serializer(self, config: Any = None) -> TypeSerializer[Any]:
            return Unreadable()

    frame = encode_records(HEADER, [1], None, record_form(UnreadableType()))
    with pytest.raises(StateError, match="no sense"):
        decode_records(read_header(frame), frame)


@pytest.mark.parametrize(
    "type_info", [None, Types.ROW_NAMED(["user"], [Types.LONG()]), Types.PICKLED_BYTE_ARRAY()]
)
def test_other_records_are_pickled_as_they_are(type_info) -> None:
    assert record_form(type_info) is None
