"""Kernels of casts, by source and target type. `penstock.expressions.signatures.CASTS` lists the pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.arrow.times import without_zone
from penstock.expressions.kinds import FLOATS, WHOLE, name_of
from penstock.expressions.tree import Call
from penstock.types.arrow import arrow_type

WHOLE_TEXT = r"\A[+-]?[0-9]+\z"
"""Texts that can be cast to a whole number."""

FLOAT_TEXT = r"\A[+-]?[0-9]+(\.[0-9]+)?\z"
"""Texts that can be cast to a float."""

DATE_TEXT = r"\A(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}\z"
"""Texts that can be cast to a date, if it exists: ISO 8601, of the years that Python has."""

TIMESTAMP_TEXT = DATE_TEXT.removesuffix(r"\z") + (
    r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?\z"
)
"""Texts that can be cast to a timestamp without zone, if the date exists."""


def cast(call: Call, value: Any) -> Any:
    """Return values of another type."""
    assert call.type_info is not None, "the tree has types"
    to_type = arrow_type(call.type_info)
    source, target = name_of(call.arguments[0]), name_of(call)
    if source == target:
        return value
    return _RULES[_family(source), _family(target)](value, to_type)


def _family(name: str) -> str:
    return "whole" if name in WHOLE else "float" if name in FLOATS else name


def _exact(value: Any, to_type: pa.DataType) -> Any:
    return value.cast(to_type)


def _rounding(value: Any, to_type: pa.DataType) -> Any:
    return value.cast(to_type, safe=False)


def _to_whole(value: Any, to_type: pa.DataType) -> Any:
    cut = pc.trunc(value)
    limit = float(1 << (to_type.bit_width - 1))
    is_in = pc.and_(
        pc.greater_equal(cut, pa.scalar(-limit, value.type)),
        pc.less(cut, pa.scalar(limit, value.type)),
    )
    _refuse(is_in, f"a float is out of the range of {to_type}")
    return cut.cast(to_type, safe=False)


def _text_to_whole(value: Any, to_type: pa.DataType) -> Any:
    return _parsed(value, to_type, WHOLE_TEXT)


def _text_to_float(value: Any, to_type: pa.DataType) -> Any:
    return _parsed(value, to_type, FLOAT_TEXT)


def _text_to_date(value: Any, to_type: pa.DataType) -> Any:
    _refuse(pc.match_substring_regex(value, DATE_TEXT), f"a text is no {to_type}")
    return value.cast(to_type)


def _text_to_timestamp(value: Any, to_type: pa.DataType) -> Any:
    _refuse(pc.match_substring_regex(value, TIMESTAMP_TEXT), f"a text is no {to_type}")
    return value.cast(to_type)


def _parsed(value: Any, to_type: pa.DataType, pattern: str) -> Any:
    _refuse(pc.match_substring_regex(value, pattern), f"a text is no {to_type}")
    return pc.replace_substring_regex(value, r"\A\+", "").cast(to_type)


def _refuse(is_right: Any, problem: str) -> None:
    if pc.all(is_right).as_py() is False:
        raise pa.ArrowInvalid(problem)


def _zone_changed(value: Any, to_type: pa.DataType) -> Any:
    return value.cast(pa.int64()).cast(to_type)


def _to_date(value: Any, to_type: pa.DataType) -> Any:
    return pc.floor_temporal(without_zone(value), unit="day").cast(to_type)


_RULES: dict[tuple[str, str], Callable[[Any, pa.DataType], Any]] = {
    ("whole", "whole"): _exact,
    ("whole", "float"): _rounding,
    ("whole", "BigDecimal"): _exact,
    ("whole", "String"): _exact,
    ("float", "float"): _rounding,
    ("float", "whole"): _to_whole,
    ("Boolean", "whole"): _exact,
    ("Boolean", "String"): _exact,
    ("String", "whole"): _text_to_whole,
    ("String", "float"): _text_to_float,
    ("String", "SqlDate"): _text_to_date,
    ("String", "SqlTimestamp"): _text_to_timestamp,
    ("SqlDate", "String"): _exact,
    ("SqlDate", "SqlTimestamp"): _exact,
    ("SqlTimestamp", "TimestampLtz"): _zone_changed,
    ("TimestampLtz", "SqlTimestamp"): _zone_changed,
    ("SqlTimestamp", "SqlDate"): _to_date,
    ("TimestampLtz", "SqlDate"): _to_date,
}
"""(source, target) to kernel."""
