"""From the schema of a state to the type of one stored entry, and its plain form.

value, reducing, aggregating, map, broadcast   the value
list                                           a chunk: a list of values
timers                                         True
with a time-to-live                            (last access in ms, value) for each value
"""

from __future__ import annotations

from functools import cache

from penstock.state.schema import StateKind, StateSchema
from penstock.types import TypeInformation, Types
from penstock.types.plain import PlainCodec, plain_codec


@cache
def stored_type(schema: StateSchema) -> TypeInformation:
    """Return the type of one stored entry."""
    value = schema.value_type
    if schema.has_ttl:
        value = Types.TUPLE([Types.LONG(), value])
    return Types.LIST(value) if schema.kind is StateKind.LIST else value


@cache
def stored_codec(schema: StateSchema) -> PlainCodec | None:
    """Return what turns stored entries into their plain form and back; None if nothing does."""
    return plain_codec(stored_type(schema))
