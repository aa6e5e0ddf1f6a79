"""Blobs of a snapshot whose key groups are divided, because the job has a multiple of the key groups.

The key group of a key is the uppermost part of a product (`penstock.wire.canonical.key_groups`), so the keys of group g are
in the groups 2g and 2g + 1 of twice as many. A blob is divided alone: no entry leaves it for another subtask's blob.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import StateError
from penstock.state.log.blob import (
    Section,
    decode_blob,
    encode_blobs,
    key_group_of,
    operator_of,
)
from penstock.state.schema.own_states import is_by_window
from penstock.wire.canonical.key_groups import KeyGroups


def divided_blob(
    blob: bytes, times: int, key_groups: KeyGroups, *, of_windows: bool
) -> Iterator[bytes]:
    """Yield the blobs of the key groups that one of a snapshot is divided into.

    Keys of a window operator are pairs of a key and a window.
    """
    operator, before = operator_of(blob), key_group_of(blob)
    groups: dict[int, list[Section]] = {}
    for section in decode_blob(blob):
        places: dict[int, list[int]] = {}
        keys = section.keys
        if of_windows and is_by_window(section.state):
            keys = [key for key, _ in keys]
        for at, group in enumerate(key_groups.of(keys)):
            places.setdefault(group, []).append(at)
        for group, entries in places.items():
            groups.setdefault(group, []).append(_some(section, entries))
    for group, sections in sorted(groups.items()):
        if group // times != before:
            raise StateError(
                f"key group {before} of operator {operator!r} has a key of key group {group // times}",
                hint="Restore the checkpoint directory from a copy, or start in a new one.",
            )
        yield from encode_blobs(operator, group, sections)


def _some(section: Section, entries: Sequence[int]) -> Section:
    """Return some entries of a section, which has nothing else."""

    def chosen(column: list[Any]) -> list[Any]:
        return [column[at] for at in entries]

    subkeys = None if section.subkeys is None else chosen(section.subkeys)
    return replace(
        section, keys=chosen(section.keys), subkeys=subkeys, values=chosen(section.values)
    )
