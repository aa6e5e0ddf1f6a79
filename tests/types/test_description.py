"""Descriptions of types: one per type, for every type, and nothing else is one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ArgumentError, DecodeError
from penstock.state.schema.stored_form import _CODECS
from penstock.types.base import TypeInformation
from penstock.types.description import _LEAVES, _RULES, describe_type, type_of
from penstock.types.types import Types
from penstock.types.user_types import StoredUserType
from tests.types.random_types import TYPES

_LONG, _STRING = Types.LONG(), Types.STRING()

GOLDEN: dict[str, tuple[TypeInformation, str]] = {
    "STRING": (Types.STRING(), '"String"'),
    "BOOLEAN": (Types.BOOLEAN(), '"Boolean"'),
    "BYTE": (Types.BYTE(), '"Byte"'),
    "SHORT": (Types.SHORT(), '"Short"'),
    "INT": (Types.INT(), '"Integer"'),
    "LONG": (Types.LONG(), '"Long"'),
    "FLOAT": (Types.FLOAT(), '"Float"'),
    "DOUBLE": (Types.DOUBLE(), '"Double"'),
    "CHAR": (Types.CHAR(), '"Char"'),
    "BIG_INT": (Types.BIG_INT(), '"BigInteger"'),
    "BIG_DEC": (Types.BIG_DEC(), '"BigDecimal"'),
    "INSTANT": (Types.INSTANT(), '"Instant"'),
    "SQL_DATE": (Types.SQL_DATE(), '"SqlDate"'),
    "SQL_TIME": (Types.SQL_TIME(), '"SqlTime"'),
    "SQL_TIMESTAMP": (Types.SQL_TIMESTAMP(), '"SqlTimestamp"'),
    "TIMESTAMP_LTZ": (Types.TIMESTAMP_LTZ(), '"TimestampLtz"'),
    "PICKLED_BYTE_ARRAY": (Types.PICKLED_BYTE_ARRAY(), '"Pickled"'),
    "ROW": (Types.ROW([_LONG]), '{"row": [["f0", "Long"]]}'),
    "ROW_NAMED": (
        Types.ROW_NAMED(["b", "a"], [_LONG, Types.LIST(_STRING)]),
        '{"row": [["b", "Long"], ["a", {"list": "String"}]]}',
    ),
    "TUPLE": (Types.TUPLE([_LONG, _STRING]), '{"tuple": ["Long", "String"]}'),
    "PRIMITIVE_ARRAY": (Types.PRIMITIVE_ARRAY(_LONG), '{"primitive_array": "Long"}'),
    "BASIC_ARRAY": (Types.BASIC_ARRAY(_LONG), '{"basic_array": "Long"}'),
    "OBJECT_ARRAY": (Types.OBJECT_ARRAY(_LONG), '{"object_array": "Long"}'),
    "LIST": (Types.LIST(_LONG), '{"list": "Long"}'),
    "MAP": (Types.MAP(_STRING, _LONG), '{"map": ["String", "Long"]}'),
}
"""Name of every factory to a type and its description: only ever added to, it is stored."""


def _names_of_subclasses(cls: type[Any]) -> set[str]:
    below = [c for c in cls.__subclasses__() if c.__module__.startswith("penstock.")]
    names = {c.__name__ for c in below if not c.__name__.startswith("_")}
    return names.union(*map(_names_of_subclasses, below))


def test_every_type_is_in_the_tables() -> None:
    # By name: the class that `dataclass(slots=True)` replaced is a subclass still.
    assert _names_of_subclasses(TypeInformation) - {"StoredUserType"} == {
        c.__name__ for c in _LEAVES | _RULES
    }
    assert _CODECS.keys() == (_LEAVES | _RULES).keys() | {StoredUserType}


def test_every_factory_has_a_golden_description() -> None:
    assert GOLDEN.keys() == {name for name in vars(Types) if name.isupper()}


@pytest.mark.parametrize("factory", GOLDEN)
def test_golden_descriptions(factory: str) -> None:
    type_info, text = GOLDEN[factory]
    assert json.dumps(describe_type(type_info)) == text
    assert type_of(json.loads(text)) == type_info


@given(TYPES)
def test_a_type_comes_back_through_json(type_info: TypeInformation) -> None:
    assert type_of(json.loads(json.dumps(describe_type(type_info)))) == type_info


@given(TYPES, TYPES)
def test_different_types_have_different_descriptions(
    left: TypeInformation, right: TypeInformation
) -> None:
    assert (describe_type(left) == describe_type(right)) == (left == right)


_TAGS = st.sampled_from(["row", "tuple", "list", "map", "basic_array", "primitive_array", "x"])
_SCALARS = st.none() | st.booleans() | st.integers() | st.sampled_from(["Long", "String", "x"])
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TAGS, inner, max_size=2),
)


@given(_JSON)
def test_any_json_is_a_description_or_refused(description: Any) -> None:
    try:
        found = type_of(description)
    except DecodeError:
        return
    assert describe_type(found) == description


@pytest.mark.parametrize(
    "description",
    [
        None,
        7,
        "long",
        "",
        [],
        {},
        {"list": "Long", "tuple": ["Long"]},
        {"set": "Long"},
        {"list": ["Long"]},
        {"tuple": []},
        {"tuple": "Long"},
        {"row": [["a", "Long"], ["a", "Long"]]},
        {"row": [["a"]]},
        {"row": [[1, "Long"]]},
        {"row": [[["a"], "Long"]]},
        {"map": ["Long"]},
        {"map": [{"list": "Long"}, "Long"]},
        {"basic_array": "Instant"},
        {"list": {"list": "Lang"}},
    ],
)
def test_what_describes_no_type_is_refused(description: Any) -> None:
    with pytest.raises(DecodeError) as caught:
        type_of(description)
    assert caught.value.code == "SERDE_DECODE"


def test_endless_nesting_is_refused() -> None:
    description: Any = "Long"
    for _ in range(100_000):
        description = {"list": description}
    with pytest.raises(DecodeError):
        type_of(description)
    while isinstance(description, dict):  # or the interpreter would recurse to free it
        description = description["list"]


def test_a_type_of_the_user_has_no_description() -> None:
    class Own(TypeInformation):
        __slots__ = ()

        def coerce(self, value: Any) -> Any:
            return value

        def fit(self, values: Any, kinds: set[type]) -> Any:
            return values

    with pytest.raises(ArgumentError) as caught:
        describe_type(Types.LIST(Own()))
    assert caught.value.code == "GRAPH_ARGUMENT"
