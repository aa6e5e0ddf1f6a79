"""The end of the backlog of a source that is no hybrid source: a position or a timestamp.

The job reads the source as two parts: the positions before the end, and the positions from it on.
Both are ranges of the same splits, so no record is read twice. The end is decided once per job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import SourceError
from penstock.graph.endpoints import Source, SplitSource
from penstock.types.information import TypeInformation

Cut = tuple[int, int, int | None]
"""Start of a split, its first position that is not backlog, its end."""


@dataclass(frozen=True, slots=True)
class BacklogEnd:
    """The end of a backlog; exactly one of the two attributes is set.

    Attributes:
        positions: Position per split, or one for all splits.
        timestamp_ms: Timestamp of the first record that is not backlog, in epoch milliseconds.
    """

    positions: tuple[int, ...] | None = None
    timestamp_ms: int | None = None

    def position(self, source: SplitSource, split: int, start: int, end: int | None) -> int:
        """Return the first position of a split that is not backlog.

        Raises:
            SourceError: The end is a timestamp, and records have none.
        """
        if self.timestamp_ms is not None:
            found = source.exact_position_at(split, self.timestamp_ms, start, end)
        else:
            assert self.positions is not None
            found = self.positions[split if len(self.positions) > 1 else 0]
        return max(start, found if end is None else min(found, end))

    def cuts(self, source: SplitSource, parallelism: int) -> tuple[Cut, ...]:
        """Return the splits of a source, each with the first position that is not backlog.

        It calls `splits` of the source. The splits may be longer at the next call.

        Raises:
            SourceError: The number of positions is not the number of splits, or see `position`.
        """
        splits = source.exact_splits(parallelism)
        wanted = len(self.positions or ())
        if wanted > 1 and wanted != len(splits):
            raise SourceError(
                f"the backlog of {source.describe()} ends at {wanted} positions, and the source has "
                f"{len(splits)} splits",
                hint="Pass one position for all splits, or one for each.",
            )
        return tuple(
            (start, self.position(source, split, start, end), end)
            for split, (start, end) in enumerate(splits)
        )

    def describe(self) -> str:
        """Return the end in words."""
        if self.timestamp_ms is not None:
            return f"timestamp {self.timestamp_ms}"
        return f"position {', '.join(map(str, self.positions or ()))}"


@dataclass(frozen=True, slots=True)
class SplitSourcePart(SplitSource):
    """The part of a source before the end of its backlog, or the part from there on.

    Attributes:
        source: The source.
        end: End of its backlog.
        is_backlog: Whether it is the part before the end.
        decided: Splits and cuts that are decided for the job, equal in both parts; None before.
    """

    source: SplitSource
    end: BacklogEnd
    is_backlog: bool
    decided: tuple[Cut, ...] | None = None

    kind: ClassVar[str] = "part"

    @property
    def records_per_second(self) -> int | None:  # type: ignore[override]
        """The rate limit of the source in live runs."""
        return self.source.records_per_second

    @property
    def has_declared_form(self) -> bool:  # type: ignore[override]
        """Whether records have the declared form already."""
        return self.source.has_declared_form

    @property
    def gives_timestamps(self) -> bool:
        """Whether records may have timestamps before any strategy assigns them."""
        return self.source.gives_timestamps

    @property
    def has_head(self) -> bool:
        """Whether the source says how many records there are now; all of its backlog are there."""
        return not self.is_backlog and self.source.has_head

    def head(self, split: int) -> int | None:
        """Return the head of the source."""
        return self.source.head(split)

    @property
    def is_bounded(self) -> bool:
        """Whether the part ends; backlog always does."""
        return self.is_backlog or self.source.is_bounded

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the source."""
        return self.source.get_produced_type()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return the positions of this part."""
        cuts = self.end.cuts(self.source, parallelism) if self.decided is None else self.decided
        if self.is_backlog:
            return [(start, cut) for start, cut, _ in cuts]
        return [(cut, end) for _, cut, end in cuts]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records of a range."""
        return self.source.read(split, start, end)

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the records of a range, and their timestamps if the source knows them."""
        return self.source.read_timestamped(split, start, end)

    def describe(self) -> str:
        """Return the source and its end, e.g. `numbers up to position 7`."""
        how = "up to" if self.is_backlog else "from"
        return f"{self.source.describe()} {how} {self.end.describe()}"


def as_split_part(source: Source) -> SplitSourcePart | None:
    """Return the source if it is one part of a source whose backlog has an end, else None."""
    return source if isinstance(source, SplitSourcePart) else None
