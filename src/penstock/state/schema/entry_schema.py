"""What is known about the entries of one state: its kind and the types of its parts.

The text of a schema travels with every batch of stored entries, so that whoever reads them,
even years later, knows what they are. It is JSON with sorted keys and no spaces:

    {"kind":"map","subkey":"String","ttl":false,"value":{"row":[["size","Long"]]}}

Values that are coded rows (`penstock.wire.coded_rows`) have one member more, `"form":"coded"`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import Any

from penstock.errors import DecodeError
from penstock.types import TypeInformation
from penstock.types.description import describe_type, type_of
from penstock.types.value_serializer import StoredForm

BROADCAST_GROUP = 0xFFFF_FFFF
"""The key group of broadcast state, which has no key; no key is ever in it."""

_FINGERPRINT_DIGITS = 16
_MEMBERS = {"kind", "subkey", "ttl", "value"}


class StateKind(Enum):
    """What a state is to the user function, and how its entries are addressed."""

    VALUE = "value"
    """One value per key."""

    LIST = "list"
    """Chunks of a list per key; the subkey is the number of the chunk."""

    MAP = "map"
    """Pairs per key; the subkey is the key of the pair."""

    REDUCING = "reducing"
    """One value per key, combined with each value added."""

    AGGREGATING = "aggregating"
    """One accumulator per key."""

    TIMERS = "timers"
    """Timers per key; the subkey is the timestamp."""

    BROADCAST = "broadcast"
    """Pairs without a key; the subkey is the key of the pair."""

    @property
    def is_nested(self) -> bool:
        """Whether a key has any number of entries, told apart by a subkey."""
        return self in _NESTED


_NESTED = frozenset({StateKind.LIST, StateKind.MAP, StateKind.TIMERS, StateKind.BROADCAST})


@dataclass(frozen=True, slots=True)
class StateSchema:
    """How the entries of one state are stored.

    Attributes:
        kind: What kind of state it is.
        value_type: Type of the value, list element, map value or accumulator.
        subkey_type: Type of the keys of a map or of broadcast state; None for other kinds.
        has_ttl: Whether each stored value is `(last access in ms, value)`.
        form: What stored values look like.
    """

    kind: StateKind
    value_type: TypeInformation
    subkey_type: TypeInformation | None = None
    has_ttl: bool = False
    form: StoredForm = StoredForm.PLAIN

    def text(self) -> str:
        """Return the schema as JSON; equal schemas, and only those, have equal texts.

        Raises:
            ArgumentError: A type is none of those the system has.
        """
        return _text(self)

    def fingerprint(self) -> str:
        """Return 16 hex digits that stand for the text.

        Raises:
            ArgumentError: A type is none of those the system has.
        """
        return _fingerprint(self)

    @staticmethod
    def parse(text: str) -> StateSchema:
        """Return the schema whose text this is; the same object every time.

        Raises:
            DecodeError: It is the text of no schema.
        """
        return _parse(text)


# Cached because every blob written or read asks; a process sees few schemas.
@cache
def _text(schema: StateSchema) -> str:
    subkey = schema.subkey_type
    members = {
        "kind": schema.kind.value,
        "subkey": None if subkey is None else describe_type(subkey),
        "ttl": schema.has_ttl,
        "value": describe_type(schema.value_type),
    }
    if schema.form is not StoredForm.PLAIN:  # left out else: texts are stored for years
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
