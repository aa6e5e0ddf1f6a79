"""Key groups of an LMDB copy whose blobs are applied at their first access, and stored until then.

To apply an entry to a file costs a hundred times what it costs to copy its bytes. So a copy that
is built anew keeps the blobs of a key group until the first access to the group. The state of such
a group is its stored entries with the blobs applied to them in the order of their numbers. To apply
the first blob and remove it does not change this state. So a group may be left half restored, and
any process that has the copy may restore the rest.

The list of these blobs is stored as a CRC-32 and JSON: per operator its uid, the schema texts its
blobs were checked for, and the numbers of each key group's blobs. An operator's number is its
place in the list.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from penstock.errors import StateError
from penstock.state.log.blob import checked, key_group_of, operator_of

_CHECK = struct.Struct("<I")
_KEY = struct.Struct(">HII")


@dataclass(slots=True)
class OperatorBlobs:
    """The deferred blobs of one operator.

    Attributes:
        declared: State to schema text: what the blobs have of these states is of that schema.
        groups: Key group to the number of its first blob and the one behind its last.
    """

    number: int
    operator: str
    declared: dict[str, str] = field(default_factory=dict)
    groups: dict[int, tuple[int, int]] = field(default_factory=dict)

    def keys(self, key_group: int) -> list[bytes]:
        """Return the keys of a group's blobs, in order."""
        first, end = self.groups.get(key_group, (0, 0))
        return [_KEY.pack(self.number, key_group, number) for number in range(first, end)]

    def next_key(self, key_group: int) -> bytes:
        """Return the key for one more blob of a group."""
        first, end = self.groups.get(key_group, (0, 0))
        self.groups[key_group] = first, end + 1
        return _KEY.pack(self.number, key_group, end)

    def is_intact(self, key_group: int, blob: bytes | None) -> bool:
        """Return whether a blob of a group is what was written."""
        try:
            return (
                blob is not None
                and key_group_of(checked(blob)) == key_group
                and operator_of(blob) == self.operator
            )
        except StateError:
            return False

    def drop_first(self, key_group: int) -> None:
        """Forget the first blob of a group: it was applied."""
        first, end = self.groups.pop(key_group)
        if first + 1 < end:
            self.groups[key_group] = first + 1, end


class DeferredBlobs:
    """The deferred blobs of a file.

    Attributes:
        is_changed: Set by every change.
    """

    def __init__(self, data: bytes | None = None) -> None:
        """Read the stored form."""
        self.is_changed = False
        self._operators: dict[str, OperatorBlobs] = {}
        if data is None:
            return
        body = data[_CHECK.size :]
        if data[: _CHECK.size] != _CHECK.pack(crc32(body)):
            raise ValueError("the list of deferred blobs does not match its checksum")
        for number, (operator, declared, groups) in enumerate(json.loads(body)):
            ranges = {group: (first, end) for group, first, end in groups}
            self._operators[operator] = OperatorBlobs(number, operator, declared, ranges)

    def encode(self) -> bytes:
        """Return the stored form."""
        known = [
            (one.operator, one.declared, [(group, *ends) for group, ends in one.groups.items()])
            for one in self._operators.values()
        ]
        body = json.dumps(known).encode()
        return _CHECK.pack(crc32(body)) + body

    def of(self, operator: str) -> OperatorBlobs | None:
        """Return the deferred blobs of an operator, None if there are none."""
        blobs = self._operators.get(operator)
        return blobs if blobs is not None and blobs.groups else None

    def all(self) -> Iterable[OperatorBlobs]:
        """Return the operators that have deferred blobs."""
        return [one for one in self._operators.values() if one.groups]

    def to_add(self, operator: str, declared: Mapping[str, str]) -> OperatorBlobs:
        """Return where blobs of an operator are added that were checked for `declared`."""
        blobs = self._operators.get(operator)
        if blobs is None:
            blobs = OperatorBlobs(len(self._operators), operator)
            self._operators[operator] = blobs
        if not blobs.groups:
            blobs.declared = dict(declared)
        self.is_changed = True
        return blobs
