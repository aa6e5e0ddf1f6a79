"""Which classes may be those of keys: by who defines their equality."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.errors import KeyTypeError
from penstock.types.list_key import ListKey, immutable_key, selected_key
from penstock.wire.canonical.key_bytes import encode_key
from penstock.wire.canonical.key_encodings import PLAIN, stable_hash


def made(base: type, **members: Any) -> Any:
    return type(f"Own{base.__name__}", (base,), members)


EXAMPLES: dict[type, Any] = {
    int: 3,
    float: 1.5,
    complex: 1j,
    Decimal: Decimal("2.5"),
    str: "a",
    bytes: b"a",
    tuple: (1, "a"),
    frozenset: frozenset({1}),
    date: date(2024, 2, 29),
    datetime: datetime(2024, 2, 29, tzinfo=UTC),
    timedelta: timedelta(seconds=1),
    UUID: UUID(int=7),
}
ARGUMENTS: dict[type, tuple[Any, ...]] = {
    date: (2024, 2, 29),
    datetime: (2024, 2, 29, 0, 0, 0, 0, UTC),
    timedelta: (0, 1),
    UUID: ("00000000-0000-0000-0000-000000000007",),
    tuple: ((1, "a"),),
    frozenset: ({1},),
}


def instance(cls: type, base: type) -> Any:
    return cls(*ARGUMENTS.get(base, (EXAMPLES[base],)))


def same_bytes_and_group(one: Any, other: Any) -> bool:
    return encode_key(one) == encode_key(other) and stable_hash(one) == stable_hash(other)


@pytest.mark.parametrize("base", EXAMPLES)
def test_a_subclass_that_inherits_equality_is_the_same_key(base: type) -> None:
    key = instance(made(base, extra=lambda self: self), base)
    assert key == EXAMPLES[base]
    assert same_bytes_and_group(key, EXAMPLES[base])


@pytest.mark.parametrize("base", [*EXAMPLES, object])
@pytest.mark.parametrize(
    "members",
    [
        {"__eq__": lambda *_: True, "__hash__": lambda _: 1},
        {"__eq__": lambda *_: True, "__hash__": object.__hash__},
        {"__hash__": lambda _: 1},
    ],
    ids=["both", "eq", "hash"],
)
def test_a_class_with_a_rule_of_its_own_is_refused(base: type, members: Any) -> None:
    if base is object and "__eq__" not in members:
        members = {**members, "__eq__": lambda *_: True}
    cls = made(base, **members)
    key = cls() if base is object else instance(cls, base)
    for form in (encode_key, stable_hash):
        with pytest.raises(KeyTypeError, match=r"defines __(eq|hash)__ itself") as refused:
            form((key,))
        assert "frozen dataclass" in refused.value.hint


@dataclass(frozen=True)
class Place:
    x: Any
    note: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    x: Any


@dataclass(unsafe_hash=True)
class Loose:
    x: Any


class Inherits(Place):
    """Nothing of its own."""


@dataclass(frozen=True)
class Wider(Place):
    y: int = 0


@dataclass(frozen=True)
class OwnHash:
    x: Any

    def __hash__(self) -> int:
        return 1


@dataclass(frozen=True)
class OwnEquality:  # noqa: PLW1641 - the hash is that dataclass makes
    x: Any

    def __eq__(self, other: object) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Identity:
    x: Any


@dataclass(frozen=True, eq=False)
class Narrow(Place):
    """Has a field that the equality it inherits does not look at."""

    y: int = 0


class Plain:
    pass


class Color(Enum):
    RED = 1


class OddColor(Enum):
    RED = 1

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Pairs(tuple[int, int], Enum):  # noqa: SLOT001 - members have a dictionary
    ONE = (1, 1)


class Level(IntEnum):
    HIGH = 3


class Name(StrEnum):
    ANN = "ann"


class Typed(NamedTuple):
    a: int
    b: str


Untyped = namedtuple("Untyped", "a b")  # noqa: PYI024 - the untyped kind is a key too


@pytest.mark.parametrize("cls", [Place, Spot, Loose, Inherits, Wider], ids=lambda cls: cls.__name__)
def test_what_dataclass_makes_is_equality_of_fields(cls: Any) -> None:
    assert cls(1) == cls(1.0)
    assert same_bytes_and_group(cls(1), cls(1.0))
    assert encode_key(cls(1)) != encode_key(cls(2))
    with pytest.raises(KeyTypeError, match="NaN"):
        encode_key(cls(float("nan")))


def test_a_dataclass_made_from_text_is_told_from_a_rule_written_in_text() -> None:
    names: dict[str, Any] = {"dataclass": dataclass}
    exec(  # noqa: S102 - as a program given with python -c: all its code is from "<string>"
        "@dataclass(frozen=True)\nclass Good:\n    x: int\n"
        "@dataclass(frozen=True)\nclass Bad:\n    x: int\n"
        "    def __eq__(self, other): return self.x % 2 == other.x % 2\n"
        "    def __hash__(self): return hash((self.x,))\n",
        names,
    )
    assert encode_key(names["Good"](1)) != encode_key(names["Good"](2))
    with pytest.raises(KeyTypeError, match="defines __eq__ itself"):
        encode_key(names["Bad"](1))


@pytest.mark.parametrize(
    "key",
    [OwnHash(1), OwnEquality(1), Identity(1), Narrow(1), Plain(), OddColor.RED, Pairs.ONE, Plain],
    ids=lambda key: type(key).__name__,
)
def test_other_equality_is_refused_by_bytes_and_by_hash(key: Any) -> None:
    for form in (encode_key, stable_hash):
        with pytest.raises(KeyTypeError, match="cannot be a key") as refused:
            form(key)
        assert refused.value.hint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Level.HIGH, 3),
        (Name.ANN, "ann"),
        (Typed(1, "a"), (1, "a")),
        (Untyped(1.0, "a"), Typed(1, "a")),
        (np.int64(3), 3),
        (np.uint8(3), True + 2),
        (np.float64(1.5), 1.5),
        (np.float32(0.5), Decimal("0.5")),
        (np.bool_(True), 1),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (ListKey((1,)), ListKey((True,))),
    ],
    ids=repr,
)
def test_equal_keys_of_other_classes_are_one_key(one: Any, other: Any) -> None:
    assert one == other
    assert hash(one) == hash(other)
    assert same_bytes_and_group(one, other)


def test_every_plain_type_has_a_form_in_both_tables() -> None:
    values = {**EXAMPLES, Row: Row(1), ListKey: ListKey((1,))}
    for cls in PLAIN:
        if cls in values:
            assert isinstance(values[cls], cls)
            assert encode_key(values[cls])
            assert stable_hash(values[cls]) is not None


berlin = ZoneInfo("Europe/Berlin")
moments = st.builds(
    lambda minutes, zone, fold: (
        datetime(2024, 1, 1, tzinfo=zone)
        .replace(
            month=month(minutes), day=day(minutes), minute=minutes % 60, hour=minutes // 60 % 5
        )
        .replace(fold=fold)
    ),
    st.integers(0, 1199),
    st.sampled_from([UTC, berlin, ZoneInfo("Europe/Paris"), None]),
    st.sampled_from([0, 1]),
)


def month(minutes: int) -> int:
    return 3 if minutes % 2 else 10


def day(minutes: int) -> int:
    return 31 if minutes % 2 else 27


@given(moments, moments)
def test_times_with_zones_are_equal_as_python_says_around_a_change_of_the_clock(
    one: datetime, other: datetime
) -> None:
    assert (one == other) is (encode_key(one) == encode_key(other))
    if one == other:
        assert stable_hash(one) == stable_hash(other)


lists = st.recursive(
    st.integers(0, 2) | st.booleans() | st.text(max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.lists(inner, max_size=2).map(tuple),
    max_leaves=4,
)


@given(lists, lists)
@example(([0, 0],), [[0, 0]])
@example([([0],)], [[[0]]])
def test_lists_are_equal_as_python_says(one: Any, other: Any) -> None:
    first, second = immutable_key(one), immutable_key(other)
    assert (one == other) is (first == second) is (encode_key(first) == encode_key(second))
    if one == other:
        assert hash(first) == hash(second)
        assert stable_hash(first) == stable_hash(second)
    assert selected_key(first) == one
    assert repr(first) == repr(one)
    assert type(selected_key(first)) is type(one)
