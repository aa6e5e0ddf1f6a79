"""The end of the backlog of a source that is no hybrid source: a position, a timestamp, or the heads.

The job reads the source as two parts: the positions before the end, and the positions from it on.
Both are ranges of the same splits, so no record is read twice. The end is decided once per job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from penstock.errors import SourceError
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource, WrappedLog
from penstock.graph.log_values import LogSplit
from penstock.graph.source import PositionedSource, Source, SplitKey
from penstock.graph.split_source import SplitSource
from penstock.types import TypeInformation


class Cut(NamedTuple):
    """End of the backlog of a split.

    Attributes:
        backlog_end: Its first position that is not backlog.
        end: Its end; None is unbounded.
        name: Its id, if the source names its splits.
    """

    start: int
    backlog_end: int
    end: int | None
    name: str | None = None

    def to_json(self) -> list[Any]:
        """Return the form to record: the members, without the name if there is none."""
        return list(self[:3] if self.name is None else self)


@dataclass(frozen=True, slots=True)
class BacklogEnd:
    """The end of a backlog. Without attributes a backlog is all records that are there when the job starts.

    Attributes:
        positions: Position per split, or one for all splits.
        timestamp_ms: Timestamp of the first record that is not backlog, in epoch milliseconds.
        is_snapshot: Whether it is the end of the snapshot of a log; then the log itself determines it.
    """

    positions: tuple[int, ...] | None = None
    timestamp_ms: int | None = None
    is_snapshot: bool = False

    def position(
        self, source: PositionedSource, number: int, key: SplitKey, start: int, now: int | None
    ) -> int:
        """Return the first position of a split that is not backlog."""
        if self.timestamp_ms is not None:
            end = source.exact_position_at(key, self.timestamp_ms, start, now)
        elif self.positions is not None:
            end = self.positions[number if len(self.positions) > 1 else 0]
        elif now is None:
            raise SourceError(
                f"the backlog of {source.describe()} cannot end at what is there now: split {key!r} "
                "has neither a head nor an end",
                hint="Override head() of the SplitSource, or end the backlog at a position.",
            )
        else:
            end = now
        return max(start, end if now is None else min(end, now))

    def cuts(self, source: PositionedSource, parallelism: int) -> tuple[Cut, ...]:
        """Return the splits of a source, each with the first position that is not backlog.

        It gets the splits from the source. They may be longer at the next call.
        """
        start_splits = source.exact_start(parallelism)
        count = len(self.positions or ())
        if count > 1 and count != len(start_splits.ranges):
            raise SourceError(
                f"the backlog of {source.describe()} ends at {count} positions, but the source has "
                f"{len(start_splits.ranges)} splits",
                hint="Pass one position for all splits, or one for each.",
            )
        nows = source.exact_ends_now(start_splits)
        names: Sequence[str | None] = start_splits.names or [None] * len(start_splits.ranges)
        splits = zip(start_splits.keys, start_splits.ranges, nows, names, strict=True)
        return tuple(
            Cut(start, self.position(source, number, key, start, now), end, name)
            for number, (key, (start, end), now, name) in enumerate(splits)
        )

    def describe(self) -> str:
        """Return the end in words."""
        if self.is_snapshot:
            return "its snapshot"
        if self.timestamp_ms is not None:
            return f"timestamp {self.timestamp_ms}"
        if self.positions is None:
            return "what is there at the start"
        return f"position {', '.join(map(str, self.positions or ()))}"


class SourcePart(PositionedSource):
    """Shared parts of both kinds of parts: they are their source, up to its end or from there on.

    Attributes:
        is_backlog: Whether it is the part before the end.
        decided: Splits and cuts that are decided for the job, equal in both parts; None before.
    """

    source: PositionedSource
    end: BacklogEnd
    is_backlog: bool
    decided: tuple[Cut, ...] | None

    @property
    def records_per_second(self) -> int | None:  # type: ignore[override]
        """The rate limit of the source in live runs."""
        return self.source.records_per_second

    @property
    def has_declared_form(self) -> bool:  # type: ignore[override]
        """True if records have the declared form already."""
        return self.source.has_declared_form

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps before any strategy assigns them."""
        return self.source.gives_timestamps

    @property
    def is_bounded(self) -> bool:
        """True if the part ends; backlog always does."""
        return self.is_backlog or self.source.is_bounded

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the source."""
        return self.source.get_produced_type()

    def datasets(self) -> Sequence[Dataset]:
        """Return what the source reads."""
        return self.source.datasets()

    def describe(self) -> str:
        """Return the source and its end, e.g. `numbers up to position 7`."""
        how = "up to" if self.is_backlog else "from"
        return f"{self.source.describe()} {how} {self.end.describe()}"


@dataclass(frozen=True, slots=True)
class SplitSourcePart(SourcePart, SplitSource):
    """The part of a source before the end of its backlog, or the part from there on."""

    source: SplitSource
    end: BacklogEnd
    is_backlog: bool
    decided: tuple[Cut, ...] | None = None

    kind: ClassVar[str] = "part"

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time."""
        return self.source.makes_records_anew

    @property
    def record_function(self) -> Callable[..., Any] | None:
        """The user's function that makes the records of the source."""
        return self.source.record_function

    @property
    def has_head(self) -> bool:
        """True if the source returns the current number of records; all of its backlog are there."""
        return not self.is_backlog and self.source.has_head

    def head(self, split: int) -> int | None:
        """Return the head of the source."""
        return self.source.head(split)

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return the positions of this part."""
        cuts = self.end.cuts(self.source, parallelism) if self.decided is None else self.decided
        return [
            (cut.start, cut.backlog_end) if self.is_backlog else (cut.backlog_end, cut.end)
            for cut in cuts
        ]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records of a range."""
        return self.source.read(split, start, end)

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the records of a range, and their timestamps if the source has them."""
        return self.source.read_timestamped(split, start, end)


@dataclass(frozen=True, slots=True)
class LogSourcePart(SourcePart, WrappedLog):
    """The part of a log before the end of its backlog, or the part from there on.

    Splits that appear later are in the second part, from their start.
    """

    source: LogSource
    end: BacklogEnd
    is_backlog: bool
    decided: tuple[Cut, ...] | None = None

    kind: ClassVar[str] = "log-part"

    def _at_start(self) -> tuple[LogSplit, ...]:
        """Return the positions of this part, the end of a bounded one as its head."""
        cuts = self.end.cuts(self.source, 1) if self.decided is None else self.decided
        if self.is_backlog:
            return tuple(LogSplit(cut.name or "", cut.start, cut.backlog_end) for cut in cuts)
        return tuple(
            LogSplit(
                cut.name or "", cut.backlog_end, cut.backlog_end if cut.end is None else cut.end
            )
            for cut in cuts
        )


def as_split_part(source: Source) -> SplitSourcePart | LogSourcePart | None:
    """Return the source if it is one part of a source whose backlog has an end, else None."""
    return source if isinstance(source, SplitSourcePart | LogSourcePart) else None


_PARTS: dict[type, type[SplitSourcePart | LogSourcePart]] = {
    SplitSource: SplitSourcePart,
    LogSource: LogSourcePart,
}
"""Class of a source that is read by positions to that of its parts."""


def part_of(source: PositionedSource, end: BacklogEnd, *, is_backlog: bool) -> PositionedSource:
    """Return the part of a source before the end of its backlog, or the part from there on."""
    part_class: Any = next(_PARTS[base] for base in type(source).__mro__ if base in _PARTS)
    part: PositionedSource = part_class(source, end, is_backlog)
    return part
