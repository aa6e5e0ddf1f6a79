"""Typing rules of functions that look into lists, and make rows."""

from __future__ import annotations

from dataclasses import replace

from penstock.expressions.kinds import (
    BOOLEAN,
    WHOLE,
    TypingError,
    adapted,
    is_list,
    is_null_constant,
    literal,
)
from penstock.expressions.tree import Call
from penstock.types.base import TypeInformation
from penstock.types.types import Types


def contained(call: Call) -> Call:
    """Type `list_contains`; of floats it would depend on how NaN and zeros are compared."""
    (value,), (expected,) = call.arguments, call.parameters
    if not is_list(value.type_info):
        msg = f"list_contains takes a list, not {value.type_info!r}"
        raise TypingError(msg)
    inside: TypeInformation = getattr(value.type_info, "element_type")  # noqa: B009 - of four classes
    if getattr(inside, "name", "") not in {*WHOLE, "String"}:
        msg = f"list_contains takes lists of texts and whole numbers, not {value.type_info!r}"
        raise TypingError(msg)
    found = adapted(literal(expected), inside)
    if found is None:
        msg = f"list_contains got {expected!r}, which is no {inside!r}"
        raise TypingError(msg)
    return replace(call, parameters=(found.value,), kind=BOOLEAN)


def made_row(call: Call) -> Call:
    """Type `struct`: a row inside the record, with a name per argument."""
    for each in call.arguments:
        if is_null_constant(each):
            msg = "None has no type here; write lit(None, type)"
            raise TypingError(msg)
    kinds = [each.type_info for each in call.arguments if each.type_info is not None]
    return replace(call, kind=Types.ROW_NAMED(list(call.parameters), kinds))
