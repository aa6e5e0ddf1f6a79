"""The schema of the entries of one state: its kind, and the types of values and subkeys.

Every batch of stored entries contains the text of its schema, so that any later version can read it.
The text is JSON with sorted keys and no spaces:

    {"kind":"map","subkey":"String","ttl":false,"value":{"row":[["size","Long"]]}}

Values that are coded rows (`penstock.wire.coded_rows`) add a member, `"form":"coded"`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import Any

from penstock.errors import DecodeError
from penstock.types import TypeInformation
from penstock.types.description import describe_type, type_of
from penstock.types.value_serializer import StoredForm

BROADCAST_GROUP = 0xFFFF_FFFF
"""The key group of broadcast state, which has no key; keys never have it."""

_FINGERPRINT_DIGITS = 16
_MEMBERS = {"kind", "subkey", "ttl", "value"}


class StateKind(Enum):
    """The kind of a state, which determines the addresses of its entries."""

    VALUE = "value"
    """One value per key."""

    LIST = "list"
    """Chunks of a list per key; the subkey is the number of the chunk."""

    MAP = "map"
    """Pairs per key; the subkey is the key of the pair."""

    REDUCING = "reducing"
    """One value per key, reduced with each added value."""

    AGGREGATING = "aggregating"
    """One accumulator per key."""

    TIMERS = "timers"
    """Timers per key; the subkey is the timestamp."""

    BROADCAST = "broadcast"
    """Pairs without a key; the subkey is the key of the pair."""

    @property
    def is_nested(self) -> bool:
        """True if a key has any number of entries, which a subkey distinguishes."""
        return self in _NESTED


_NESTED = frozenset({StateKind.LIST, StateKind.MAP, StateKind.TIMERS, StateKind.BROADCAST})


@dataclass(frozen=True, slots=True)
class StateSchema:
    """The schema of the entries of one state.

    Attributes:
        kind: Kind of the state.
        value_type: Type of the value, list element, map value or accumulator.
        subkey_type: Type of the keys of a map or of broadcast state; None for other kinds.
        has_ttl: Whether each stored value is `(last access in ms, value)`.
        form: Form of stored values.
        holds_plain: Whether values are plain in memory too, as the caller puts and gets them; no part of what is stored.
        is_part: Of rows of parts of aggregates, whose names say what was computed: whether a field of a name is a part, and no
            column of the key. They are read if the columns of the key are the same and no part is new. No part of what is
            stored.
    """

    kind: StateKind
    value_type: TypeInformation
    subkey_type: TypeInformation | None = None
    has_ttl: bool = False
    form: StoredForm = StoredForm.PLAIN
    holds_plain: bool = field(default=False, compare=False)
    is_part: Callable[[str], bool] | None = field(default=None, compare=False)

    def text(self) -> str:
        """Return the schema as JSON; equal schemas, and only those, have equal texts.

        Raises:
            ArgumentError: A type is no type of `Types`.
        """
        return _text(self)

    def fingerprint(self) -> str:
        """Return a digest of the text, in 16 hex digits.

        Raises:
            ArgumentError: A type is no type of `Types`.
        """
        return _fingerprint(self)

    @staticmethod
    def parse(text: str) -> StateSchema:
        """Return the cached schema of a text.

        Raises:
            DecodeError: It is the text of no schema.
        """
        return _parse(text)


# Cached, because it is called for every blob; a process has few schemas.
@cache
def _text(schema: StateSchema) -> str:
    subkey = schema.subkey_type
    members = {
        "kind": schema.kind.value,
        "subkey": None if subkey is None else describe_type(subkey),
        "ttl": schema.has_ttl,
        "value": describe_type(schema.value_type),
    }
    if schema.form is not StoredForm.PLAIN:  # omitted otherwise: stored texts must not change
        members["form"] = schema.form.value
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


@cache
def _fingerprint(schema: StateSchema) -> str:
    return sha256(_text(schema).encode()).hexdigest()[:_FINGERPRINT_DIGITS]


@cache
def _parse(text: str) -> StateSchema:
    try:
        members = json.loads(text)
    except (ValueError, RecursionError) as refused:
        raise _unreadable(text, "it is no JSON") from refused
    if not isinstance(members, dict) or set(members) - {"form"} != _MEMBERS:
        raise _unreadable(text, f"it has not the members {', '.join(sorted(_MEMBERS))}")
    kinds = {kind.value: kind for kind in StateKind}
    kind, has_ttl = members["kind"], members["ttl"]
    if not isinstance(kind, str) or kind not in kinds:
        raise _unreadable(text, f"there is no kind of state {kind!r}")
    coded = StoredForm.CODED.value
    if members.get("form", coded) != coded:
        raise _unreadable(text, f"its form is {members['form']!r}")
    if not isinstance(has_ttl, bool):
        raise _unreadable(text, f"its ttl is {has_ttl!r}")
    subkey = members["subkey"]
    return StateSchema(
        kinds[kind],
        type_of(members["value"]),
        None if subkey is None else type_of(subkey),
        has_ttl,
        StoredForm.CODED if "form" in members else StoredForm.PLAIN,
    )


def _unreadable(text: Any, reason: str) -> DecodeError:
    return DecodeError(
        f"{text!r:.200} is not the schema of a state: {reason}",
        hint="Read the state with the version of Penstock that wrote it, or a later one.",
    )
