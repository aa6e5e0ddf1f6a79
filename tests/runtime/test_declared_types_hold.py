"""Every type, wherever it can be declared: what does not fit is an error, never another value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Instant, Row, Types
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import ArgumentError, PenstockError
from penstock.testing import run_in_process
from penstock.types import TypeInformation
from tests.runtime.jobs import BATCH, STREAMING, environment

NOON = dt.datetime(2024, 5, 1, 12)  # noqa: DTZ001 - as SQL has it
AWARE = NOON.replace(tzinfo=dt.UTC)

BAD: dict[str, tuple[TypeInformation, list[Any]]] = {
    "STRING": (Types.STRING(), [1, b"a", ("a",)]),
    "BOOLEAN": (Types.BOOLEAN(), [1, "true"]),
    "BYTE": (Types.BYTE(), [128, -129, 1.0, True, "1"]),
    "SHORT": (Types.SHORT(), [2**15, -(2**15) - 1, 1.5, True]),
    "INT": (Types.INT(), [2**31, -(2**31) - 1, 1.0, False, Decimal(1)]),
    "LONG": (Types.LONG(), [2**63, -(2**63) - 1, 1.0, True, "1"]),
    "FLOAT": (Types.FLOAT(), [1e39, True, "1"]),
    "DOUBLE": (Types.DOUBLE(), [10**400, True, "1"]),
    "CHAR": (Types.CHAR(), ["", "ab", 97]),
    "BIG_INT": (Types.BIG_INT(), [1.0, Decimal("1.5"), True]),
    "BIG_DEC": (Types.BIG_DEC(), [1.5, Decimal("NaN"), "1"]),
    "INSTANT": (Types.INSTANT(), [NOON, 1]),
    "SQL_DATE": (Types.SQL_DATE(), [NOON, "2024-05-01"]),
    "SQL_TIME": (Types.SQL_TIME(), [dt.time(1, tzinfo=dt.UTC), NOON]),
    "SQL_TIMESTAMP": (Types.SQL_TIMESTAMP(), [AWARE, NOON.date(), 1]),
    "TIMESTAMP_LTZ": (Types.TIMESTAMP_LTZ(), [NOON, 1]),
    "ROW": (Types.ROW([Types.INT()]), [(2**31,), (1, 2), 1]),
    "ROW_NAMED": (Types.ROW_NAMED(["a"], [Types.INT()]), [Row(b=1), {"b": 1}, Row(a="1")]),
    "TUPLE": (Types.TUPLE([Types.INT()]), [(2**31,), (1, 2), 1]),
    "PRIMITIVE_ARRAY": (Types.PRIMITIVE_ARRAY(Types.SHORT()), [[2**15], [None], 1]),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), [[1], "a"]),
    "BASIC_ARRAY": (Types.BASIC_ARRAY(Types.INT()), [[2**31], {1}]),
    "OBJECT_ARRAY": (Types.OBJECT_ARRAY(Types.INT()), [[2**31], "ab"]),
    "LIST": (Types.LIST(Types.INT()), [[1, 2**31], {1: 2}]),
    "MAP": (Types.MAP(Types.STRING(), Types.INT()), [{"a": 2**31}, {1: 1}, {None: 1}, 1]),
}
"""Factory to a type, and values that are not of it."""

CASES = [
    pytest.param(type_info, value, id=f"{name}-{value!r:.20}")
    for name, (type_info, values) in BAD.items()
    for value in values
]
TAG_ID = "side"


def test_every_factory_is_tried() -> None:
    names = {name for name in vars(Types) if name.isupper()} - {"PICKLED_BYTE_ARRAY"}
    assert names <= BAD.keys()


def in_field(type_info: TypeInformation) -> TypeInformation:
    return Types.ROW_NAMED(["fine", "amount"], [Types.LONG(), type_info])


def in_collection(type_info: TypeInformation, value: Any) -> None:
    environment(BATCH).from_collection([(1, value)], in_field(type_info))


def run(value: Any, then: Callable[[DataStream[Any]], DataStream[Any]]) -> None:
    stream = environment(STREAMING).from_collection([value])
    then(stream).sink_to(DiscardingSink())
    run_in_process(stream.get_execution_environment())


def in_result(type_info: TypeInformation, value: Any) -> None:
    run(value, lambda s: s.map(lambda v: (1, v), in_field(type_info)).name("totals"))


class Sides(ProcessFunction):
    def __init__(self, tag: OutputTag) -> None:
        self.tag = tag

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self.tag, (1, value)


def in_side_output(type_info: TypeInformation, value: Any) -> None:
    tag = OutputTag(TAG_ID, in_field(type_info))
    run(value, lambda s: s.process(Sides(tag)).name("totals").get_side_output(tag))


class Keeps(KeyedProcessFunction):
    def __init__(self, write: Callable[[RuntimeContext, TypeInformation, Any], None]) -> None:
        self.write = write

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        type_info, found = value
        self.write(self.context, in_field(type_info), found)
        yield "kept"


def to_value(context: RuntimeContext, type_info: TypeInformation, value: Any) -> None:
    context.get_state(ValueStateDescriptor("amounts", type_info)).update((1, value))


def to_list(context: RuntimeContext, type_info: TypeInformation, value: Any) -> None:
    context.get_list_state(ListStateDescriptor("amounts", type_info)).add((1, value))


def to_map(context: RuntimeContext, type_info: TypeInformation, value: Any) -> None:
    descriptor = MapStateDescriptor("amounts", Types.STRING(), type_info)
    context.get_map_state(descriptor).put("k", (1, value))


def in_state(
    write: Callable[[RuntimeContext, TypeInformation, Any], None],
) -> Callable[[TypeInformation, Any], None]:
    def attempt(type_info: TypeInformation, value: Any) -> None:
        function = Keeps(write)
        run((type_info, value), lambda s: s.key_by(lambda _: 0).process(function).name("totals"))

    return attempt


PLACES: dict[str, tuple[Callable[[TypeInformation, Any], None], list[str]]] = {
    "source": (in_collection, ["element 0 of the collection"]),
    "result": (in_result, ["operator 'totals'"]),
    "side output": (in_side_output, ["operator 'totals'"]),
    "value state": (in_state(to_value), ["'amounts'", "operator 'totals'"]),
    "list state": (in_state(to_list), ["'amounts'", "operator 'totals'"]),
    "map state": (in_state(to_map), ["'amounts'", "operator 'totals'"]),
}
"""Where a type is declared to how to get a value there, and what the message has to name."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("type_info", "value"), CASES)
def test_what_does_not_fit_is_named(place: str, type_info: TypeInformation, value: Any) -> None:
    attempt, named = PLACES[place]
    with pytest.raises(PenstockError) as raised:
        attempt(type_info, value)
    assert raised.value.code in {"TYPE_MISMATCH", "GRAPH_ARGUMENT"}
    assert isinstance(raised.value, ArgumentError) == (place == "source")
    assert raised.value.origin is not None
    assert raised.value.origin.filename == __file__
    for name in [*named, "field 'amount'"]:
        assert name in raised.value.problem


FITTING: list[tuple[TypeInformation, Any, Any]] = [
    (Types.LONG(), 2**63 - 1, 2**63 - 1),
    (Types.DOUBLE(), 1, 1.0),
    (Types.BIG_DEC(), 1, Decimal(1)),
    (Types.INSTANT(), AWARE, Instant(1714564800, 0)),
    (Types.TUPLE([Types.INT()]), [1], (1,)),
    (Types.ROW_NAMED(["a"], [Types.INT()]), {"a": 1}, Row(a=1)),
    (Types.LIST(Types.DOUBLE()), (1, None), [1.0, None]),
]


class Attributes:
    """An object of a class that is nothing special; its fields go by name."""

    def __init__(self, amount: Any) -> None:
        self.amount = amount
        self.fine = 1
        self.cache = object()


@pytest.mark.parametrize(("type_info", "value", "form"), FITTING)
@pytest.mark.parametrize("shape", [lambda v: (1, v), Attributes, lambda v: Row(amount=v, fine=1)])
def test_what_fits_is_brought_to_its_form(
    type_info: TypeInformation, value: Any, form: Any, shape: Callable[[Any], Any]
) -> None:
    env = environment(STREAMING)
    env.from_collection([shape(value)], in_field(type_info)).sink_to(DiscardingSink()).name("out")
    (row,) = run_in_process(env).of("out")
    assert row == Row(fine=1, amount=form)
    assert type(row.amount) is type(form)
