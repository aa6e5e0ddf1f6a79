"""Kinds of keys: whether the keys of a changed program can be those its state is stored by.

A key selector that returns `(r.user,)` where it returned `r.user` finds none of the state there is, and says
nothing. The first byte of a key's bytes is its kind (`penstock.wire.canonical.key_bytes`): a number, text, a tuple …, the
same for keys that are equal. So before an operator takes its first records over state that another
version of the program left, the kinds of their keys are compared with those of the stored ones:

    stored {text}            met {tuple}          refused
    stored {text}            met {text, tuple}    taken: the program has both
    stored {text, number}    met {number}         taken
    stored {text}            met {None}           not decided yet: None is a key among any others

It is asked once per subtask and operator, and only if the functions of the job are others than those that left
the state: what they are is remembered with it, as a number. Of state without one, of an earlier version of
Penstock, it is asked as well. So the same program always goes on, whatever keys come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import StateMigrationError
from penstock.program.operator_spec import OperatorSpec
from penstock.program.own_states import WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.log.blob import decode_blob, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.user_failure import short
from penstock.wire.canonical.key_bytes import kind_of_key

_BY_WINDOW = frozenset({WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS, TABLE, PROCESSING_TABLE})
"""States of a window operator whose keys are pairs of a key and a window."""


class KindCheck:
    """Compares kinds of keys once.

    Attributes:
        left_by: What stands for the functions that left the state, None if nobody knows.
    """

    def __init__(
        self, spec: OperatorSpec, store: KeyedStateBackend, left_by: int | None, *, by_window: bool
    ) -> None:
        """Do nothing yet: the state may not be there.

        Args:
            spec: The operator.
            store: Its state.
            left_by: See the attribute.
            by_window: Its state is kept by pairs of a key and a window.
        """
        self.left_by = left_by
        self._spec = spec
        self._store = store
        self._by_window = by_window

    def settles(self, keys: list[Any]) -> bool:
        """Return whether keys are such as are stored, or nothing is; False if that is not decided.

        Args:
            keys: Of the first records.

        Raises:
            StateMigrationError: Their kinds are others.
        """
        examples = dict(zip(map(type, keys), keys, strict=True))
        met = {kind: key for key in examples.values() if (kind := kind_of_key(key)) is not None}
        if not met:
            return False
        stored: dict[str, Any] = {}
        for key in self._stored_keys():
            kind = kind_of_key(key)
            if kind in met:
                return True
            if kind is not None:
                stored[kind] = key
        if not stored:
            return True
        raise StateMigrationError(
            f"operator {self._spec.name!r} has state by keys of kind {_named(stored)}, and its first "
            f"records have keys of kind {_named(met)}, which find none of it",
            hint="Let the key selector return what it did; to begin without the state, give the "
            "operator another uid; if keys of both kinds are meant, set "
            "execution.state-recovery.ignore-key-kinds.",
            origin=self._spec.origin,
        )

    def _stored_keys(self) -> Iterator[Any]:
        """Yield stored keys, of one class and section one."""
        for group in self._store.groups():
            if group == BROADCAST_GROUP:
                continue
            for blob in self._store.snapshot_group(group):
                if operator_of(blob) != self._spec.uid:
                    continue
                for section in decode_blob(blob):
                    keys = section.keys
                    if self._by_window:
                        keys = [k for k, _ in keys] if section.state in _BY_WINDOW else []
                    yield from dict(zip(map(type, keys), keys, strict=True)).values()


def _named(kinds: dict[str, Any]) -> str:
    return ", ".join(f"{kind} (such as {short(kinds[kind])})" for kind in sorted(kinds))
