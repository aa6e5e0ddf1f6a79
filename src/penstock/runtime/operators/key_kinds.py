"""The check of kinds of keys: are the keys of a changed program of the kinds in its state?

A key selector that now returns `(r.user,)` instead of `r.user` silently finds none of its state. The first byte of
a key's bytes is its kind (`penstock.wire.canonical.key_bytes`): a number, text, a tuple …. Equal keys have the same
kind. So before an operator processes its first records with the state of another version of the program,
it compares the kinds of their keys with those of the stored keys:

    stored {text}            first {tuple}          refused
    stored {text}            first {text, tuple}    accepted: the program has both
    stored {text, number}    first {number}         accepted
    stored {text}            first {None}           undecided: None occurs among keys of any kind

The check runs once per subtask and operator, and only if the functions of the job differ from those that wrote
the state: state contains the digest of their code. It also runs for state without a digest, of an earlier version
of Penstock. So an unchanged program always continues, whatever keys are first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import StateMigrationError
from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.log.blob import decode_blob, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.state.schema.own_states import WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS
from penstock.user_failure import short
from penstock.wire.canonical.key_bytes import kind_of_key

_BY_WINDOW = frozenset({WINDOW_CONTENTS, WINDOW_SECOND_CONTENTS, TABLE, PROCESSING_TABLE})
"""States of a window operator whose keys are (key, window)."""


class KindCheck:
    """Compares kinds of keys once.

    Attributes:
        left_by: Digest of the functions that wrote the state, None if it is unknown.
    """

    def __init__(
        self, spec: OperatorSpec, store: KeyedStateBackend, left_by: int | None, *, by_window: bool
    ) -> None:
        """Make the check; it reads the state later, when that is restored.

        Args:
            spec: The operator.
            store: Its state backend.
            left_by: See the attribute.
            by_window: Whether the keys of its state are (key, window).
        """
        self.left_by = left_by
        self._spec = spec
        self._store = store
        self._by_window = by_window

    def settles(self, keys: list[Any]) -> bool:
        """Return whether the kinds match, or the state is empty; False if that is undecided.

        Args:
            keys: Keys of the first records.

        Raises:
            StateMigrationError: Their kinds differ from those of the stored keys.
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
