"""Key groups whose blobs are decoded at their first access.

To decode an entry costs about ten times what it costs to copy its bytes, and a run that takes over
ten million keys answers its first record long before it has needed most of them. So the hash-map
backend decodes a key group of an operator at the first access to a part of it:

    blob of an accessed group              applied at once
    blob with timers                       applied at once: they fire without an access to their key
    blob of another schema                 applied at once: an unreadable one is refused at once
    blob without a directory               applied at once: only its entries show its states
    every other blob                       deferred, its checksum verified, behind those before it
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from penstock.state.log.blob import directory_of
from penstock.state.schema.entry_schema import StateKind, StateSchema


class DeferredGroups:
    """The deferred blobs of one operator, by key group.

    A group that was restored stays so: handles keep its parts.
    """

    def __init__(self, decode: Callable[[int, bytes], None]) -> None:
        """Begin without blobs."""
        self._decode = decode
        self._blobs: dict[int, list[bytes]] = {}
        self._restored: set[int] = set()

    def is_restored(self, key_group: int) -> bool:
        """Return whether a key group was accessed."""
        return key_group in self._restored

    def defer(self, key_group: int, blob: bytes) -> None:
        """Take a blob of a group that was not accessed, behind its others."""
        self._blobs.setdefault(key_group, []).append(blob)

    def restore(self, key_group: int) -> None:
        """Decode what was deferred of a key group."""
        self._restored.add(key_group)
        for blob in self._blobs.pop(key_group, ()):
            self._decode(key_group, blob)

    def restore_all(self) -> None:
        """Decode everything there is, as when a state is declared late."""
        for key_group in list(self._blobs):
            self.restore(key_group)

    def groups(self) -> Collection[int]:
        """Return the key groups that are deferred."""
        return self._blobs.keys()

    def forget(self) -> None:
        """Drop all blobs."""
        self._blobs.clear()


def may_defer(blob: bytes, declared: Mapping[str, StateSchema]) -> bool:
    """Return whether a blob can wait: it has no timers, and its entries are of their declared schemas."""
    for state, text in directory_of(blob):
        schema = declared.get(state)
        if schema is not None and (schema.kind is StateKind.TIMERS or schema.text() != text):
            return False
    return True
