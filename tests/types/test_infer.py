"""Types from annotations."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Dict, List, NamedTuple, NotRequired, Optional, TypedDict  # noqa: UP035

import pytest

from penstock.types.infer import type_of_annotation
from penstock.types.row import Row
from penstock.types.time import Instant
from penstock.types.types import Types


@dataclass
class _Order:
    id: int
    note: str | None
    lines: list[_Line]


class _Line(NamedTuple):
    sku: str
    price: Decimal


class _Event(TypedDict):
    at: dt.datetime
    by: NotRequired[str]


@dataclass
class _Tree:
    children: list[_Tree]


@dataclass
class _Opaque:
    value: Any


_LINE = Types.ROW_NAMED(["sku", "price"], [Types.STRING(), Types.BIG_DEC()])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, Types.LONG()),
        (float, Types.DOUBLE()),
        (str, Types.STRING()),
        (bool, Types.BOOLEAN()),
        (bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (dt.datetime, Types.SQL_TIMESTAMP()),
        (dt.date, Types.SQL_DATE()),
        (dt.time, Types.SQL_TIME()),
        (Decimal, Types.BIG_DEC()),
        (Instant, Types.INSTANT()),
        (Annotated[int, "metres"], Types.LONG()),
        (list[int], Types.LIST(Types.LONG())),
        (list[int | None], Types.LIST(Types.LONG())),
        (List[int], Types.LIST(Types.LONG())),  # noqa: UP006
        (dict[str, Optional[float]], Types.MAP(Types.STRING(), Types.DOUBLE())),  # noqa: UP045
        (Dict[str, int], Types.MAP(Types.STRING(), Types.LONG())),  # noqa: UP006
        (tuple[str, int], Types.TUPLE([Types.STRING(), Types.LONG()])),
        (_Line, _LINE),
        (
            _Order,
            Types.ROW_NAMED(
                ["id", "note", "lines"], [Types.LONG(), Types.STRING(), Types.LIST(_LINE)]
            ),
        ),
        (_Event, Types.ROW_NAMED(["at", "by"], [Types.SQL_TIMESTAMP(), Types.STRING()])),
        (tuple[int, _Line], Types.TUPLE([Types.LONG(), _LINE])),
    ],
)
def test_known(annotation: Any, expected: Any) -> None:
    assert type_of_annotation(annotation) == expected


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        Any,
        object,
        "int",
        Row,
        list,
        tuple,
        dict,
        set[int],
        Sequence[int],
        int | None,
        int | str,
        list[Any],
        list[int | str],
        tuple[int, ...],
        tuple[int | None, str],
        tuple[()],
        dict[tuple[int, int], int],
        dict[Any, int],
        _Tree,
        _Opaque,
        list[_Opaque],
    ],
)
def test_unknown(annotation: Any) -> None:
    assert type_of_annotation(annotation) is None


def test_unresolvable_hints_are_unknown() -> None:
    @dataclass
    class Broken:
        value: _Missing  # type: ignore[name-defined]  # noqa: F821

    assert type_of_annotation(Broken) is None
