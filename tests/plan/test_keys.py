"""Keys that cannot be keys: every kind of them, declared and not.

What is declared is refused when the job is planned, everything else with the first record: by the same
code, with the same hint and the user's line. Planning refuses nothing that would run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from operator import itemgetter
from typing import Any

import numpy as np
import pytest

from penstock.common import Row, TypeInformation, Types
from penstock.datastream import KeyedProcessFunction
from penstock.errors import KeyTypeError
from penstock.testing import OperatorHarness


class Folded(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self.casefold() == str(other).casefold()

    def __hash__(self) -> int:
        return hash(self.casefold())


class Pair(tuple[Any, ...]):  # noqa: SLOT001
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Odd(int):
    def __hash__(self) -> int:
        return 1


class OwnRule:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Identity:
    def __init__(self, value: Any) -> None:
        self.value = value


class NoHash(str):  # noqa: PLW1641
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True


@dataclass
class Changed:
    value: Any


@dataclass(frozen=True)
class OwnHash:
    value: Any

    def __hash__(self) -> int:
        return 1


@dataclass(frozen=True)
class Fields:
    value: Any


class Name(str):
    __slots__ = ()


class Color(Enum):
    RED = "a"


class OddColor(Enum):
    RED = "a"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Level(IntEnum):
    HIGH = 1


class MadeOtherwise(OwnRule):
    """What a call of it gives is no instance of it."""

    def __new__(cls, value: Any) -> Any:
        return str(value)


class KeyOf(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield ctx.get_current_key()


def run(select: Any, value: Any, **options: Any) -> Any:
    """Return the key, or the error; and whether it came before the first record."""
    try:
        harness = OperatorHarness.of(keyed(select, **options))
    except KeyTypeError as refused:
        return refused, True
    with harness:
        try:
            (key,) = harness.push(value)
        except KeyTypeError as refused:
            return refused, False
        return key, False


def keyed(
    select: Any, key_type: TypeInformation | None = None, records: TypeInformation | None = None
) -> Callable[[Any], Any]:
    def job(stream: Any) -> Any:
        if records is not None:
            stream = stream.map(lambda value: value, output_type=records)
        return stream.key_by(select, key_type).process(KeyOf())

    return job


def called(cls: type) -> Callable[[Any], Any]:
    """Return a selector of which nothing is known but that it is a function."""

    def select(value: Any) -> Any:
        return cls(value)

    return select


REFUSED: list[tuple[type, Any]] = [
    *((cls, "a") for cls in (Folded, OwnRule, Identity, NoHash, Changed, OwnHash, OddColor)),
    *((cls, ("a",)) for cls in (Pair, set, bytearray, memoryview)),
    (Odd, 1),
    (dict, (("a", 1),)),
]
TAKEN: list[tuple[type, Any]] = [
    *((cls, "a") for cls in (str, Name, Fields, Color, list, tuple, frozenset, MadeOtherwise)),
    *((cls, 1) for cls in (int, float, bool, Level, np.int64, np.float32)),
]


def value_for(cls: type, value: Any) -> Any:
    return b"a" if cls in (bytearray, memoryview) else value


@pytest.mark.parametrize(("cls", "value"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_a_class_of_no_keys_is_refused_alike_declared_or_not(cls: type, value: Any) -> None:
    value = value_for(cls, value)
    said, planned = run(cls, value)
    met, later_planned = run(called(cls), value)
    assert isinstance(said, KeyTypeError)
    assert isinstance(met, KeyTypeError)
    assert (planned, later_planned) == (True, False)
    assert said.code == met.code == "KEY_TYPE"
    assert said.hint == met.hint
    for refused in (said, met):
        assert refused.origin is not None
        assert refused.origin.filename == __file__
    assert cls.__name__ in said.problem


@pytest.mark.parametrize(("cls", "value"), TAKEN, ids=lambda v: getattr(v, "__name__", ""))
def test_planning_refuses_no_class_that_runs(cls: type, value: Any) -> None:
    key, _ = run(cls, value)
    assert key == run(called(cls), value)[0] == cls(value)


MAP = Types.MAP(Types.STRING(), Types.LONG())
NAMES = Types.LIST(Types.STRING())
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
TYPES: list[tuple[TypeInformation, Any, bool]] = [
    (MAP, {"a": 1}, False),
    (Types.LIST(MAP), [{"a": 1}], False),
    (Types.BASIC_ARRAY(Types.STRING()), ["a"], True),
    (Types.OBJECT_ARRAY(MAP), [{"a": 1}], False),
    (Types.TUPLE([Types.LONG(), MAP]), (1, {"a": 1}), False),
    (Types.ROW_NAMED(["m"], [MAP]), Row(m={"a": 1}), False),
    (Types.ROW_NAMED(["m"], [NAMES]), Row(m=["a"]), False),
    (Types.ROW([Types.TUPLE([NAMES])]), Row((["a"],)), False),
    (Types.ROW([Types.PRIMITIVE_ARRAY(Types.INT())]), Row([1]), False),
    (Types.TUPLE([Types.ROW([NAMES])]), (Row(["a"]),), False),
    (Types.ROW([BYTES]), Row(b"a"), True),
    (BYTES, b"a", True),
    (NAMES, ["a"], True),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1], True),
    (Types.TUPLE([NAMES, Types.ROW([Types.LONG()])]), (["a"], Row(1)), True),
    (Types.LIST(Types.ROW([Types.LONG()])), [Row(1)], True),
    (Types.STRING(), "a", True),
    (Types.LIST(Types.PICKLED_BYTE_ARRAY()), ["a"], True),
]


@pytest.mark.parametrize(("declared", "key", "fits"), TYPES, ids=lambda v: str(v)[:60])
def test_a_declared_type_is_refused_if_its_values_are(
    declared: TypeInformation, key: Any, fits: bool
) -> None:
    record = Types.ROW_NAMED(["key", "n"], [declared, Types.LONG()])
    pair = Types.TUPLE([declared, Types.LONG()])
    found = [
        run(lambda v: v, key, key_type=declared),
        run(lambda v: v.key, Row(key=key, n=1), records=record),
        run(itemgetter("key"), Row(key=key, n=1), records=record),
        run(lambda v: v[0], (key, 1), records=pair),
    ]
    met, planned = run(lambda v: v, key)
    assert not planned
    for said, planned in found:
        if fits:
            assert isinstance(said, type(met))
            continue
        assert planned
        assert (said.code, said.hint) == (met.code, met.hint)
        assert said.origin.filename == __file__


def test_what_a_field_of_another_type_or_another_function_gives_is_not_known() -> None:
    records = Types.ROW_NAMED(["m", "n"], [MAP, Types.LONG()])
    record = Row(m={"a": 1}, n=2)
    assert run(lambda v: v.n, record, records=records) == (2, False)
    assert run(lambda v: v.m["a"], record, records=records) == (1, False)
    refused, planned = run(lambda v: dict(v.m), record, records=records)
    assert isinstance(refused, KeyTypeError)
    assert not planned
