"""Key groups that nobody has touched: they stay blobs until something of them is needed.

To decode an entry costs about ten times what it costs to copy its bytes, and a run that takes over
ten million keys answers its first record long before it has needed most of them. So the hash-map
backend decodes a key group of an operator when a part of it is first asked for:

    blob of a group that was asked for     applied at once
    blob with timers                       applied at once: they fire though their key sleeps
    blob of another schema                 applied at once: what cannot be read is refused at once
    every other blob                       kept, its checksum verified, behind those kept before

Which states a blob has is found by searching its bytes. A name or schema text that a value happens
to contain makes a blob look as if it should be applied at once, which is always right.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping

from penstock.state.log.blob import MAGIC, body_of
from penstock.state.schema.entry_schema import StateKind, StateSchema

_MEMOIZED = b"\x94"
_AGAIN = (b"h", b"j")
"""Opcodes of `pickle` for a string that was there before: the text of an equal schema."""

_IN_EVERY_TEXT = b'"subkey":'
_PICKLE_HEAD, _PICKLE_TAIL = 11, 3
"""Bytes around the two members of a pickled pair: protocol and frame; tuple, memo, stop."""


class SleepingGroups:
    """The sleeping key groups of one operator.

    Once awake, a group stays awake: handles keep its parts.
    """

    def __init__(self, decode: Callable[[int, bytes], None]) -> None:
        """Begin without blobs.

        Args:
            decode: Applies a blob to the tables of the operator; called with its key group.
        """
        self._decode = decode
        self._blobs: dict[int, list[bytes]] = {}
        self._awake: set[int] = set()

    def is_awake(self, key_group: int) -> bool:
        """Return whether something of a key group was asked for."""
        return key_group in self._awake

    def keep(self, key_group: int, blob: bytes) -> None:
        """Keep a blob of a group that sleeps, behind its others."""
        self._blobs.setdefault(key_group, []).append(blob)

    def wake(self, key_group: int) -> None:
        """Decode what a key group has.

        Raises:
            StateError: An entry cannot be decoded.
        """
        self._awake.add(key_group)
        for blob in self._blobs.pop(key_group, ()):
            self._decode(key_group, blob)

    def wake_all(self) -> None:
        """Decode everything there is, as when a state is declared late.

        Raises:
            StateError: An entry cannot be decoded.
        """
        for key_group in list(self._blobs):
            self.wake(key_group)

    def groups(self) -> Iterable[int]:
        """Return the key groups that sleep."""
        return self._blobs.keys()

    def forget(self) -> None:
        """Drop all blobs."""
        self._blobs.clear()


def may_sleep(blob: bytes, declared: Mapping[str, StateSchema]) -> bool:
    """Return whether a blob can wait: it has no timers, and every entry is of its declared schema.

    Args:
        blob: Of one operator; its checksum is right.
        declared: The states the operator has declared.
    """
    body = blob if blob[: len(MAGIC)] == MAGIC else bytes(body_of(blob))
    texts: set[str] = set()
    n_literal, repeats = 0, False
    for state, schema in declared.items():
        name = state.encode()
        if name not in body:
            continue
        pair = pickle.dumps((state, schema.text()), 5)[_PICKLE_HEAD:-_PICKLE_TAIL]
        if schema.kind is StateKind.TIMERS:
            return False
        if pair in body:
            n_literal += 1
        elif any(name + _MEMOIZED + again in body for again in _AGAIN):
            repeats = True
        else:
            return False
        texts.add(schema.text())
    return not repeats or (len(texts) == 1 and body.count(_IN_EVERY_TEXT) == n_literal)
