"""The kernel of every function that evaluates all its arguments; `evaluation` has the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc

from penstock.expressions.arrow import (
    arithmetic,
    calls,
    casts,
    floats,
    halves,
    nested,
    tallies,
    texts,
    times,
    values,
)
from penstock.expressions.tree import Call

Kernel = Callable[..., Any]
"""Takes the call and its evaluated arguments, arrays and scalars of which one is an array."""


def _plain(kernel: Callable[..., Any]) -> Kernel:
    def apply(_: Call, *arguments: Any) -> Any:
        return kernel(*arguments)

    return apply


KERNELS: dict[str, Kernel] = {
    "add": arithmetic.add,
    "concat": texts.concat,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "modulo": arithmetic.modulo,
    "negate": arithmetic.negate,
    "abs": arithmetic.absolute,
    "equal": _plain(pc.equal),
    "not_equal": _plain(pc.not_equal),
    "less": _plain(pc.less),
    "less_equal": _plain(pc.less_equal),
    "greater": _plain(pc.greater),
    "greater_equal": _plain(pc.greater_equal),
    "not": _plain(pc.invert),
    "is_null": _plain(pc.is_null),
    "is_nan": _plain(pc.is_nan),
    "isin": arithmetic.is_member,
    "greatest": arithmetic.greatest,
    "least": arithmetic.least,
    "cast": casts.cast,
    "floor": _plain(pc.floor),
    "ceil": _plain(pc.ceil),
    "round": arithmetic.round_half_even,
    "sqrt": _plain(pc.sqrt),
    "length": _plain(pc.utf8_length),
    "ascii_lower": _plain(pc.ascii_lower),
    "ascii_upper": _plain(pc.ascii_upper),
    "strip": texts.strip(pc.utf8_trim),
    "strip_start": texts.strip(pc.utf8_ltrim),
    "strip_end": texts.strip(pc.utf8_rtrim),
    "pad_start": texts.pad(pc.utf8_lpad),
    "pad_end": texts.pad(pc.utf8_rpad),
    "reverse": _plain(pc.utf8_reverse),
    "repeat": texts.repeat,
    "find": texts.find,
    "slice": texts.cut,
    "starts_with": texts.starts_with,
    "ends_with": texts.ends_with,
    "contains": texts.contains,
    "replace": texts.replace,
    "split": texts.split,
    "year": times.part(pc.year),
    "month": times.part(pc.month),
    "day": times.part(pc.day),
    "weekday": times.part(pc.day_of_week),
    "quarter": times.part(pc.quarter),
    "week": times.part(pc.iso_week),
    "day_of_year": times.part(pc.day_of_year),
    "hour": times.part(pc.hour),
    "minute": times.part(pc.minute),
    "second": times.part(pc.second),
    "epoch_millis": times.epoch_millis,
    "truncate": times.truncate,
    "shift": times.shift,
    "days_since": times.days_since,
    "list_length": nested.list_length,
    "list_contains": nested.list_contains,
    "get": nested.get,
    "field": nested.field,
    "struct": nested.struct,
    "sql_cast": casts.cast,
    "cardinality": nested.list_length,
    "bucket": tallies.bucket,
    "bits": arithmetic.bits,
    "tally": tallies.tally,
    "joined": halves.joined,
    "quotient": halves.quotient,
    "tally_size": tallies.size,
    "quantile": tallies.quantile,
    "variance": tallies.variance,
    "limbs": floats.limbs,
    "times": floats.times,
    "limb_quotient": floats.quotient,
    "limb_variance": floats.variance,
    "ordinal": floats.ordinal,
    "of_ordinal": floats.of_ordinal,
    "decimal_limbs": floats.decimal_limbs,
    "decimal_quotient": floats.decimal_quotient,
    "folded": calls.folded,
    "user_result": calls.user_result,
    "of_values": values.of_values,
    "over_values": values.over_values,
}
"""Name of a function to its kernel."""
