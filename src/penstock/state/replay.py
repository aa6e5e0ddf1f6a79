"""Entries of one operator and one key group, rebuilt from blobs without the job.

The module does the work of a program's tables without its types: values stay plain, and
every entry stays under the schema it was written with. Memory: the entries of one key group.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from penstock.errors import RESTORE_STATE, StateError
from penstock.state.backends.hash.parts import HashNestedPart, HashSinglePart
from penstock.state.log.blob import (
    Section,
    body_of,
    decode_blob,
    is_blob,
    is_intact,
    key_group_of,
    operator_of,
)
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateSchema

_UID_AT = 14
"""Offset of the uid of a blob; its pickle follows."""


class GroupReplay:
    """The entries of one operator in one key group."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, HashSinglePart | HashNestedPart]] = {}

    def apply(self, section: Section) -> None:
        """Apply one section; they come in the order they were written."""
        parts = self._parts.setdefault(section.state, {})
        part = parts.get(section.schema)
        if part is None:
            nested = StateSchema.parse(section.schema).kind.is_nested
            part = parts[section.schema] = HashNestedPart() if nested else HashSinglePart()
        part.apply(section, section.values)
        if len(parts) > 1:
            gone = _removal(section)
            for other in parts.values():
                if other is not part:
                    other.apply(gone, [])

    def sections(self) -> Iterator[Section]:
        """Yield all entries, one section per state and schema that has any."""
        for state, parts in self._parts.items():
            for schema, part in parts.items():
                if part.has_entries():
                    yield part.all_entries(partial(Section.of_entries, state, schema))


def _removal(section: Section) -> Section:
    """Return what a section does to entries of the same address under another schema."""
    subkeys = None
    if section.subkeys is not None:
        subkeys = [*section.subkeys, *(section.removed_subkeys or ())]
    return Section(
        section.state,
        section.schema,
        [],
        None if subkeys is None else [],
        [],
        [*section.keys, *section.removed],
        subkeys,
        section.cleared,
    )


def replay(blobs: Iterable[tuple[str, bytes]]) -> GroupReplay:
    """Return the entries that blobs of one operator and key group amount to."""
    group_replay = GroupReplay()
    for where, blob in blobs:
        for section in open_blob(where, blob):
            group_replay.apply(section)
    return group_replay


def open_blob(where: str, blob: bytes) -> list[Section]:
    """Return the sections of a blob."""
    try:
        return decode_blob(blob)
    except StateError as cause:
        missing = None
        if isinstance(cause.__cause__, (ImportError, AttributeError)):
            missing = _missing_class(blob)
        if missing is None:
            problem, hint = cause.problem, RESTORE_STATE
        else:
            problem = f"the class {missing} of a stored value cannot be imported"
            hint = "Put the directory of the job's modules on PYTHONPATH."
        raise StateError(f"{problem}; {_owner(blob)}, {where}", hint=hint) from cause


def check_blob(where: str, blob: bytes) -> None:
    """Make sure a blob is what was written, header included; does not decode its entries."""
    if not is_blob(blob):
        raise StateError(f"a state blob does not start like one; {where}", hint=RESTORE_STATE)
    if not is_intact(blob):
        raise StateError(
            f"a state blob does not match its checksum; {_claimed_owner(blob)}, {where}",
            hint=RESTORE_STATE,
        )


def check_row(where: str, operator: str, key_group: int, blob: bytes) -> None:
    """Check that a row of a snapshot names the owner of its blob, and that the blob is intact."""
    row_owner = f"operator {operator!r}, key group {key_group}"
    check_blob(f"{row_owner}, {where}", blob)
    if (operator_of(blob), key_group_of(blob)) != (operator, key_group & BROADCAST_GROUP):
        raise StateError(
            f"a row of {row_owner}, has the blob of {_owner(blob)}; {where}", hint=RESTORE_STATE
        )


def _owner(blob: bytes) -> str:
    return f"operator {operator_of(blob)!r}, key group {key_group_of(blob)}"


def _claimed_owner(blob: bytes) -> str:
    """Return the owner in the header of a damaged blob; the header may be damaged too."""
    uid = blob[_UID_AT:][: int.from_bytes(blob[12:_UID_AT], "little")]
    return f"operator {uid.decode(errors='replace')!r}, key group {key_group_of(blob)}"


class _Namer(pickle.Unpickler):
    """Finds the first class that cannot be imported; slower than `pickle.loads`."""

    missing: str | None = None

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            self.missing = f"{module}.{name}"
            raise


def _missing_class(blob: bytes) -> str | None:
    namer = _Namer(io.BytesIO(body_of(blob)))
    try:
        namer.load()
    except Exception:  # noqa: BLE001 - only which class it was matters; the error is raised already
        return namer.missing
    return None
