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
from functools import cache
from hashlib import sha256
from typing import Any, ClassVar

from penstock.errors import DecodeError
from penstock.types import TypeInformation
from penstock.types.description import describe_type, type_of
from penstock.types.value_serializer import StoredForm

BROADCAST_GROUP = 0xFFFF_FFFF
"""The key group of broadcast state, which has no key; keys never have it."""

_FINGERPRINT_DIGITS = 16
_MEMBERS = {"kind", "subkey", "ttl", "value"}


@dataclass(frozen=True, slots=True, eq=False)
class StateKind:
    """A kind of state: which entries a key has, and the handle by which functions use them.

    Attributes:
        value: Its name, which is stored.
        subkey: Name of what distinguishes the entries of a key; None if a key has one entry.
        is_list: Whether an entry is a part of a list, and its subkey the number of the part.
        is_map: Whether subkeys are keys of the user.
        handle: Module and function that makes the handle; empty for states that no function has.
        getter: The method of a context that returns the handle.
        contents: Returns what a handle holds for a key.
    """

    value: str
    subkey: str | None = None
    is_list: bool = False
    is_map: bool = False
    handle: str = ""
    getter: str = "get_state"
    contents: Callable[[Any], Any] = lambda handle: handle.get()

    VALUE: ClassVar[StateKind]
    """One value per key."""

    LIST: ClassVar[StateKind]
    """Parts of a list per key."""

    MAP: ClassVar[StateKind]
    """Pairs per key."""

    REDUCING: ClassVar[StateKind]
    """One value per key, reduced with each added value."""

    AGGREGATING: ClassVar[StateKind]
    """One accumulator per key."""

    TIMERS: ClassVar[StateKind]
    """Timers per key; the subkey is the timestamp."""

    BROADCAST: ClassVar[StateKind]
    """Pairs without a key."""

    @property
    def is_nested(self) -> bool:
        """True if a key has any number of entries, which a subkey distinguishes."""
        return self.subkey is not None

    def __reduce__(self) -> tuple[Any, ...]:
        # There is one object of a kind in a process, so `is` compares kinds.
        return kind_named, (self.value,)

    def __repr__(self) -> str:
        return f"StateKind {self.value!r}"


_HANDLES = "penstock.state.handles"

KINDS: dict[str, StateKind] = {
    kind.value: kind
    for kind in (
        StateKind(
            "value",
            handle=f"{_HANDLES}.value_state:value_state",
            contents=lambda handle: handle.value(),
        ),
        StateKind(
            "list",
            "list_index",
            is_list=True,
            handle=f"{_HANDLES}.list_state:list_state",
            getter="get_list_state",
            contents=lambda handle: list(handle.get() or ()),
        ),
        StateKind(
            "map",
            "map_key",
            is_map=True,
            handle=f"{_HANDLES}.map_state:map_state",
            getter="get_map_state",
            contents=lambda handle: dict(handle.items()),
        ),
        StateKind(
            "reducing",
            handle=f"{_HANDLES}.value_state:reducing_state",
            getter="get_reducing_state",
        ),
        StateKind(
            "aggregating",
            handle=f"{_HANDLES}.value_state:aggregating_state",
            getter="get_aggregating_state",
        ),
        StateKind("timers", "timestamp_ms"),
        StateKind("broadcast", "map_key", handle=f"{_HANDLES}.map_state:broadcast_state"),
    )
}
"""Name to kind; a kind of state is a row here, a handle, and a descriptor of the API."""


def kind_named(value: str) -> StateKind:
    """Return the kind of a name."""
    return KINDS[value]


StateKind.VALUE = KINDS["value"]
StateKind.LIST = KINDS["list"]
StateKind.MAP = KINDS["map"]
StateKind.REDUCING = KINDS["reducing"]
StateKind.AGGREGATING = KINDS["aggregating"]
StateKind.TIMERS = KINDS["timers"]
StateKind.BROADCAST = KINDS["broadcast"]


@dataclass(frozen=True, slots=True)
class StateSchema:
    """The schema of the entries of one state.

    Attributes:
        value_type: Type of the value, list element, map value or accumulator.
        subkey_type: Type of the keys of a map or of broadcast state; None for other kinds.
        has_ttl: Whether each stored value is `(last access in ms, value)`.
        form: Form of stored values.
        holds_plain: Whether values are plain in memory too, as the caller puts and gets them; it is not stored.
        is_part: For rows of parts of aggregates: whether a field of a name is a part, and no column of the key. The name
            describes the computation. They are read if the columns of the key are the same and no part is new. It is not
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
        """Return the schema as JSON; equal schemas, and only those, have equal texts."""
        return _text(self)

    def fingerprint(self) -> str:
        """Return a digest of the text, in 16 hex digits."""
        return _fingerprint(self)

    @staticmethod
    def parse(text: str) -> StateSchema:
        """Return the cached schema of a text."""
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
        raise _unreadable(text, "it is not JSON") from refused
    if not isinstance(members, dict) or set(members) - {"form"} != _MEMBERS:
        raise _unreadable(text, f"it has not the members {', '.join(sorted(_MEMBERS))}")
    kind, has_ttl = members["kind"], members["ttl"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise _unreadable(text, f"there is no kind of state {kind!r}")
    coded = StoredForm.CODED.value
    if members.get("form", coded) != coded:
        raise _unreadable(text, f"its form is {members['form']!r}")
    if not isinstance(has_ttl, bool):
        raise _unreadable(text, f"its ttl is {has_ttl!r}")
    subkey = members["subkey"]
    return StateSchema(
        KINDS[kind],
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
