"""One file of a table's log: what a version added and removed, as the Delta protocol writes it.

It is read here and not by the library, because the library tells what a table has at a version, and not in a
fixed order what a version brought; the source must read the same rows at the same positions every time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class CommitFile:
    """The actions of one version.

    Attributes:
        version: The version.
        timestamp_ms: When it was committed.
        operation: What was done, e.g. `WRITE`.
        added: Actions that add files with new rows; rewritten files are left out.
        removed: Actions that remove files with their rows.
        changes: Actions with files of the change data feed.
        metadata: New metadata of the table, if any.
    """

    version: int
    timestamp_ms: int
    operation: str
    added: tuple[Mapping[str, Any], ...]
    removed: tuple[Mapping[str, Any], ...]
    changes: tuple[Mapping[str, Any], ...]
    metadata: Mapping[str, Any] | None


def read_commit(path: Path, version: int) -> CommitFile:
    """Return what a file of the log says.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no file of a log.
    """
    actions = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    info: Mapping[str, Any] = next(iter(_all(actions, "commitInfo")), {})
    stamp = info.get("inCommitTimestamp", info.get("timestamp"))
    return CommitFile(
        version,
        int(path.stat().st_mtime_ns // 1_000_000 if stamp is None else stamp),
        str(info.get("operation", "an unknown operation")),
        tuple(each for each in _all(actions, "add") if each.get("dataChange", True)),
        tuple(each for each in _all(actions, "remove") if each.get("dataChange", True)),
        tuple(_all(actions, "cdc")),
        next(iter(_all(actions, "metaData")), None),
    )


def _all(actions: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [action[kind] for action in actions if action.get(kind) is not None]
