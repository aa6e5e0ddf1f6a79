"""Values of logs: splits, batches of records, objects that a job keeps in other systems, and checks of the results of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.types.arrow_lists import columns_to_lists
from penstock.types.row import row_factory
from penstock.user_failure import short


@dataclass(frozen=True, slots=True)
class KeptOutside:
    """Object that a source or sink has made in another system.

    Attributes:
        what: Its kind and place, in words without secrets.
        drop: Removes it; does nothing if it is not there.

    Example:
        >>> tables = {"stage_7"}
        >>> kept = KeptOutside("staged rows stage_7", lambda: tables.discard("stage_7"))
        >>> kept.drop()
        >>> tables
        set()
    """

    what: str
    drop: Callable[[], None]


_END = 2**63


@dataclass(frozen=True, slots=True)
class LogSplit:
    """A split of a log, as it is now.

    Attributes:
        id: Its name: not empty, unique in the source, the same for as long as the job lives.
        earliest: The first position that can still be read.
        head: The position behind the last record; `earliest` if there is none.
        start: Position at which a job begins to read a new split; None is `earliest`.

    Example:
        >>> LogSplit("orders-0", earliest=0, head=20)
        LogSplit(id='orders-0', earliest=0, head=20, start=None)
    """

    id: str
    earliest: int
    head: int
    start: int | None = None


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Records of a range of positions.

    Attributes:
        records: Records at the positions from the start of the range up to `next_position`, in order. Those of an Arrow
            table or record batch are rows with the names of its columns.
        next_position: The first position that has not been read yet; at most the end of the
            range. All positions before it are read, those without a record too.
        timestamps: One per record, in epoch milliseconds, also as an Arrow array of integers; None if the
            source has none.

    Example:
        >>> LogBatch(["a", "b"], next_position=7).next_position
        7
        >>> import pyarrow
        >>> columns = pyarrow.table({"word": ["a", "b"], "size": [1, 1]})
        >>> LogBatch(columns, next_position=7).next_position
        7
    """

    records: Sequence[Any] | pa.RecordBatch | pa.Table
    next_position: int
    timestamps: Sequence[int] | pa.Array | pa.ChunkedArray | None = None


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """Content of a log when a job started, in files, and the beginning of its tail.

    Attributes:
        files: Name of each file in the directory of the snapshot, and how many records it has.
        positions: Id of every split, and the position from which it is read behind the snapshot.

    Example:
        >>> LogSnapshot({"0.parquet": 2_000}, {"orders": 17}).positions
        {'orders': 17}
    """

    files: Mapping[str, int]
    positions: Mapping[str, int]


class Wrong(Exception):  # noqa: N818 - it is no error of ours: its catcher makes one of it
    """A value of a source that cannot be true.

    Attributes:
        problem: Completes "read() of …" or "discover() of …".
        hint: Hint about the right result.
    """

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def exact_splits(given: list[Any]) -> dict[str, LogSplit]:
    """Return splits by id, with Python's integers."""
    splits = {split.id: split for split in map(_exact_split, given)}
    if len(splits) < len(given):
        raise Wrong(f"returned a split twice: {short(given)}", "Return each split once.")
    return splits


def known_first(
    splits: Mapping[str, LogSplit], known: Iterable[str], *, is_again: bool
) -> tuple[LogSplit, ...]:
    """Return splits: known ones in their order, then the others."""
    before = dict.fromkeys(known)
    new = [split for name, split in splits.items() if name not in before]
    if is_again and not before:
        new = [replace(split, start=split.earliest) for split in new]
    return (*(splits[name] for name in before), *new)


def _exact_split(split: Any) -> LogSplit:
    """Return a split with Python's integers, and with its start."""
    if not isinstance(split, LogSplit) or not isinstance(split.id, str) or not split.id:
        raise Wrong(f"returned {short(split)}", "Return LogSplits with an id each.")
    begin = split.earliest if split.start is None else split.start
    try:
        earliest, head, start = index(split.earliest), index(split.head), index(begin)
    except TypeError as cause:
        raise Wrong(f"returned {short(split)}: {cause}", "Return ints as positions.") from cause
    if not 0 <= earliest <= start <= head < _END:
        raise Wrong(
            f"returned {short(split)}",
            "Return positions from 0 below 2**63, with earliest <= start <= head.",
        )
    return LogSplit(split.id, earliest, head, start)


def lost_records(where: str, position: int, split: LogSplit | None) -> Wrong | None:
    """Return what is wrong if records of a split are gone that are to be read next, else None."""
    anew = "or start in a new checkpoint directory, which reads what is there"
    if split is None:
        return Wrong(
            f"{where}, which the job has read up to position {position}, is gone",
            f"Bring it back, {anew}. discover() must return every split that it gets as known.",
        )
    if split.head < position:
        return Wrong(
            f"{where} has records up to position {split.head}, and the job has read up to {position}",
            f"A head must not fall. Bring the records back, {anew}.",
        )
    if split.earliest > position:
        return Wrong(
            f"{where} begins at position {split.earliest}, and the job has read up to {position}: what "
            "was between them was removed before it was read",
            f"Keep records for longer than the job may stand still. Bring them back, {anew}.",
        )
    return None


def exact_snapshot(snapshot: Any, directory: Path) -> LogSnapshot:
    """Return a snapshot with Python's integers."""
    if not isinstance(snapshot, LogSnapshot):
        raise Wrong(f"returned {short(snapshot)}", "Return a LogSnapshot, or None.")
    counts = [*snapshot.files.values(), *snapshot.positions.values()]
    names = [*snapshot.files, *snapshot.positions]
    if any(not isinstance(name, str) or not name for name in names) or any(
        type(count) is not int or not 0 <= count < _END for count in counts
    ):
        raise Wrong(
            f"returned {short(snapshot)}",
            "Return names of files with their numbers of records, and ids of splits with positions.",
        )
    if any("/" in name or name in {".", ".."} for name in snapshot.files):
        raise Wrong(f"returned {short(snapshot)}", "Name files in the directory that it got.")
    missing = [name for name in snapshot.files if not (directory / name).is_file()]
    if missing:
        raise Wrong(f"named {missing[0]!r}, which it has not written", "Write each file.")
    return snapshot


def exact_batch(batch: Any, start: int, end: int, *, is_single: bool = True) -> LogBatch:
    """Return a batch of the positions `[start, end)` with lists.

    It consumes iterables of the user's, which may raise anything.
    """
    if not isinstance(batch, LogBatch):
        raise Wrong(f"returned {short(batch)}", "Return a LogBatch.")
    records, following = _records_of(batch.records), index(batch.next_position)
    if not start <= following <= end:
        raise Wrong(
            f"has next position {following}",
            "Return at most the end: what is at it and behind it belongs to the next range.",
        )
    if len(records) > following - start and (is_single or following == start):
        raise Wrong(
            f"gave {len(records)} records for the {following - start} positions up to {following}",
            "Give each record a position of its own, and return only those of the range.",
        )
    if batch.timestamps is None:
        return LogBatch(records, following)
    times = _times_of(batch.timestamps)
    if len(times) != len(records) or set(map(type, times)) - {int}:
        raise Wrong(
            f"gave {len(times)} timestamps for {len(records)} records, of types "
            f"{sorted({type(timestamp).__name__ for timestamp in times})}",
            "Return one int, in epoch milliseconds, per record.",
        )
    return LogBatch(records, following, times)


def _records_of(given: Any) -> list[Any]:
    """Return records; columns become rows, a column at a time."""
    if not isinstance(given, pa.RecordBatch | pa.Table):
        return list(given)
    make_rows = row_factory(given.schema.names)
    records: list[Any] = []
    for batch in given.to_batches() if isinstance(given, pa.Table) else (given,):
        records += make_rows(map(list, zip(*columns_to_lists(batch), strict=True)))
    return records


def _times_of(times: Any) -> list[Any]:
    is_column = isinstance(times, pa.Array | pa.ChunkedArray)
    return times.to_pylist() if is_column else list(times)
