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
    wanted = arrow_type(call.type_info)
    source, target = name_of(call.arguments[0]), name_of(call)
    if source == target:
        return value
    return _RULES[_family(source), _family(target)](value, wanted)


def _family(name: str) -> str:
    return "whole" if name in WHOLE else "float" if name in FLOATS else name


def _exact(value: Any, wanted: pa.DataType) -> Any:
    return value.cast(wanted)


def _rounding(value: Any, wanted: pa.DataType) -> Any:
    return value.cast(wanted, safe=False)


def _to_whole(value: Any, wanted: pa.DataType) -> Any:
    cut = pc.trunc(value)
    limit = float(1 << (wanted.bit_width - 1))
    is_in = pc.and_(
        pc.greater_equal(cut, pa.scalar(-limit, value.type)),
        pc.less(cut, pa.scalar(limit, value.type)),
    )
    _refuse(is_in, f"a float is out of the range of {wanted}")
    return cut.cast(wanted, safe=False)


def _text_to_whole(value: Any, wanted: pa.DataType) -> Any:
    return _parsed(value, wanted, WHOLE_TEXT)


def _text_to_float(value: Any, wanted: pa.DataType) -> Any:
    return _parsed(value, wanted, FLOAT_TEXT)


def _text_to_date(value: Any, wanted: pa.DataType) -> Any:
    _refuse(pc.match_substring_regex(value, DATE_TEXT), f"a text is no {wanted}")
    return value.cast(wanted)


def _text_to_timestamp(value: Any, wanted: pa.DataType) -> Any:
    _refuse(pc.match_substring_regex(value, TIMESTAMP_TEXT), f"a text is no {wanted}")
    return value.cast(wanted)


def _parsed(value: Any, wanted: pa.DataType, pattern: str) -> Any:
    _refuse(pc.match_substring_regex(value, pattern), f"a text is no {wanted}")
    return pc.replace_substring_regex(value, r"\A\+", "").cast(wanted)


def _refuse(is_right: Any, problem: str) -> None:
    if pc.all(is_right).as_py() is False:
        raise pa.ArrowInvalid(problem)


def _zone_changed(value: Any, wanted: pa.DataType) -> Any:
    return value.cast(pa.int64()).cast(wanted)


def _to_date(value: Any, wanted: pa.DataType) -> Any:
    return pc.floor_temporal(without_zone(value), unit="day").cast(wanted)


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
