"""Digests of typed records: the law (same content, same digest), and digests that stay for ever."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.types import Row, RowKind, RowTypeInfo, TypeInformation, Types
from penstock.wire.canonical.record_digest import DIGEST_BYTES, typed_digest
from tests.types.random_types import TYPES, exact
from tests.types.type_strategies import values_of

LONG, STRING = Types.LONG(), Types.STRING()
PERSON = Types.ROW_NAMED(["id", "name"], [LONG, STRING])


def digest(type_info: TypeInformation, record: Any) -> bytes:
    typed = typed_digest(type_info)
    assert typed is not None
    return typed.of_coded(typed.encode(record))


@st.composite
def _typed_pairs(draw: st.DrawFn) -> tuple[TypeInformation, Any, Any]:
    type_info = draw(TYPES.filter(lambda found: typed_digest(found) is not None))
    one, other = draw(values_of(type_info)), draw(values_of(type_info))
    if isinstance(type_info, RowTypeInfo):
        for row in (one, other):
            row.set_row_kind(RowKind.INSERT)
    return type_info, one, other


@settings(max_examples=100)
@given(_typed_pairs())
def test_digests_are_equal_exactly_if_contents_are(
    pair: tuple[TypeInformation, Any, Any],
) -> None:
    type_info, one, other = pair
    is_same = exact(one) == exact(other)
    assert (digest(type_info, one) == digest(type_info, other)) is is_same
    assert len(digest(type_info, one)) == DIGEST_BYTES


def _several_forms(type_info: TypeInformation) -> bool:
    text = repr(type_info)
    return any(name in text for name in ("Double", "Float", "Map", "Pickled"))


@given(TYPES)
def test_what_has_several_forms_has_no_typed_digests(type_info: TypeInformation) -> None:
    assume(_several_forms(type_info))
    assert typed_digest(type_info) is None


def test_only_records_have_typed_digests() -> None:
    assert typed_digest(LONG) is typed_digest(Types.LIST(PERSON)) is None
    assert typed_digest(PERSON) is typed_digest(
        Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    )


def test_names_and_types_count_and_the_width_of_integers_does_not() -> None:
    def one(names: list[str], first: TypeInformation) -> bytes:
        row_type = Types.ROW_NAMED(names, [first, STRING])
        return digest(row_type, row_type.coerce([1, "x"]))

    known = one(["a", "b"], LONG)
    assert one(["a", "b"], Types.BYTE()) == known
    assert one(["a", "c"], LONG) != known
    assert one(["a", "b"], Types.BIG_INT()) != known
    nested = [
        digest(Types.TUPLE([Types.ROW_NAMED([name], [LONG])]), (Row(**{name: 1}),))
        for name in ("a", "b")
    ]
    assert nested[0] != nested[1]


GOLDEN = [
    (PERSON, Row(id=1, name="ab"), "539b01c641e5ce311d43694b"),
    (PERSON, Row(id=None, name=None), "4ed62d9ba04e9552e0e02cb4"),
    (PERSON, Row(id=-1, name="\ud83d"), "ae76cd85b2e2d10d218c04c3"),
    (Types.TUPLE([STRING, Types.LIST(LONG)]), ("x", [1, None]), "25222c9e7e75ee743fbaa5ec"),
]
"""Stored in the state of joins: only ever added to."""


@pytest.mark.parametrize(("type_info", "record", "golden"), GOLDEN)
def test_golden_digests(type_info: TypeInformation, record: Any, golden: str) -> None:
    assert digest(type_info, record).hex() == golden
