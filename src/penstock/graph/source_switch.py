"""The switch of a hybrid source: the facts of a part when the part behind it begins, and the next source.

A source that is made at the switch is a `SwitchedSource` in the graph and in the plan, which need its type and
whether it ends. Its factory is called in the driver, when the part begins, with a `SourceSwitch`. The switch is decided
and recorded with the input of the part before it, so a driver that goes on, and a job that starts from a savepoint, call the
factory with the same value. The source itself is not recorded: it has code of the user's, and may have secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from penstock.errors import ArgumentError, CallSite, SourceError
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource, WrappedLog
from penstock.graph.source import Batch, PositionedSource, Source, SplitKey
from penstock.types import TypeInformation
from penstock.types.time import Instant
from penstock.user_failure import failing_as

_BATCH_RECORDS = 8_192
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SplitValue = int | str
"""Name of a split in a column."""


@dataclass(frozen=True, slots=True)
class SourceSwitch:
    """End of the source before a switch: the argument of a factory of `HybridSource`.

    Attributes:
        end_timestamp: The greatest timestamp of its records, in epoch milliseconds; None if it had no
            record, or no time was requested.
        positions: The greatest position of each split, as (split, position) pairs, if they were requested.

    Example:
        >>> switch = SourceSwitch(end_timestamp=1_767_225_599_999, positions=((0, 41),))
        >>> switch.next_timestamp
        1767225600000
        >>> switch.next_positions
        {0: 42}
        >>> SourceSwitch().next_timestamp
        0
    """

    end_timestamp: int | None = None
    positions: tuple[tuple[SplitValue, int], ...] = ()

    @property
    def next_timestamp(self) -> int:
        """The first millisecond behind all records; 0 if there was no record."""
        return 0 if self.end_timestamp is None else self.end_timestamp + 1

    @property
    def end_positions(self) -> dict[SplitValue, int]:
        """Split to the greatest position of its records."""
        return dict(self.positions)

    @property
    def next_positions(self) -> dict[SplitValue, int]:
        """Split to the position behind its last record."""
        return {split: position + 1 for split, position in self.positions}

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return {"end_timestamp": self.end_timestamp, "positions": [*map(list, self.positions)]}

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> SourceSwitch:
        """Return the value that `to_json` encoded."""
        pairs = tuple((split, position) for split, position in recorded["positions"])
        return cls(recorded["end_timestamp"], pairs)


@dataclass(frozen=True, slots=True)
class SwitchColumns:
    """Columns of the records before a switch that its factory needs.

    Attributes:
        timestamp: Column of their times; None is the timestamps that their source gives them.
        position: Column of their positions; None requests no positions, then `split` is None too.
        split: Column of the splits that positions are in; None is one split, which is 0.
    """

    timestamp: str | None = None
    position: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        """Check the names."""
        for what in ("timestamp", "position", "split"):
            name = getattr(self, what)
            if name is not None and (not isinstance(name, str) or not name):
                raise ArgumentError.here(
                    f"the column {what} of a switch is {name!r}", hint="Pass its name as a string."
                )
        if self.split is not None and self.position is None:
            raise ArgumentError.here(
                f"a switch has splits by the column {self.split!r}, and no positions",
                hint="Name the column of positions too: position=….",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, each once."""
        return tuple(dict.fromkeys(filter(None, (self.timestamp, self.position, self.split))))


Factory = Callable[[SourceSwitch], Source]


@dataclass(frozen=True, slots=True)
class SwitchedSource(WrappedLog):
    """A log that a factory makes at a switch. It is not read before.

    Attributes:
        switch_columns: Columns that the factory needs.
        type_info: Type of the records: that of the parts before.
        decided: The source, None before the switch.
    """

    factory: Factory
    switch_columns: SwitchColumns
    type_info: TypeInformation
    ends: bool
    origin: CallSite | None
    decided: LogSource | None = None

    kind: ClassVar[str] = "switched"

    @property
    def source(self) -> LogSource:  # type: ignore[override]
        """The source that was made."""
        assert self.decided is not None, "a source is made before it is read"
        return self.decided

    @property
    def is_bounded(self) -> bool:
        """True if the source ends."""
        return self.ends

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps: a source that is not made yet may."""
        return True

    @property
    def has_declared_form(self) -> bool:  # type: ignore[override]
        """True if records have the declared form already; they need not, before it is made."""
        return self.decided is not None and self.decided.has_declared_form

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time; they need not be, before it is made."""
        return self.decided is not None and self.decided.makes_records_anew

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the parts before."""
        return self.type_info

    def position_at(self, split: str, timestamp_ms: int, start: int, end: int) -> int:
        """Return the first position in a range whose record is not before a timestamp."""
        return self.source.position_at(split, timestamp_ms, start, end)

    def datasets(self) -> Sequence[Dataset]:
        """Return what the source reads; nothing before it is made."""
        return () if self.decided is None else self.decided.datasets()

    def describe(self) -> str:
        """Return the source in words."""
        return "a source made at the switch" if self.decided is None else self.decided.describe()

    def made(self, switch: SourceSwitch) -> SwitchedSource:
        """Return the part with the source that the factory makes."""
        failed = f"the factory of a HybridSource failed on {switch}"
        with failing_as(SourceError, failed, self.origin, hint="Correct the factory."):
            source = self.factory(switch)
        if not isinstance(source, LogSource):
            raise SourceError(
                f"the factory of a HybridSource made {source!r}, which is not a log source",
                hint="Return a KafkaSource or another LogSource.",
                origin=self.origin,
            )
        if source.takes_snapshot:
            raise SourceError(
                f"the factory of a HybridSource made {source.describe()}, which takes a snapshot when the job "
                "starts: it has a history of its own",
                hint="Pass the source itself to add_source, or read it alone.",
                origin=self.origin,
            )
        if source.is_bounded != self.ends:
            raise SourceError(
                f"the factory of a HybridSource made {source.describe()}, which "
                f"{'ends' if source.is_bounded else 'never ends'}",
                hint=f"Pass is_bounded={source.is_bounded} to add_source.",
                origin=self.origin,
            )
        if str(source.get_produced_type()) != str(self.type_info):
            raise SourceError(
                f"the factory of a HybridSource made {source.describe()} of the type "
                f"{source.get_produced_type()!r}, and the sources before it have {self.type_info!r}",
                hint="Give them the same schema, column order included.",
                origin=self.origin,
            )
        return replace(self, decided=source)


def as_switched(source: Source) -> SwitchedSource | None:
    """Return the source if it is made at a switch, else None."""
    return source if isinstance(source, SwitchedSource) else None


def switch_after(
    batches: Iterable[Batch], needed: SwitchColumns, described: str, origin: CallSite | None
) -> SourceSwitch:
    """Return the switch behind records."""
    column = partial(_column, described=described, origin=origin)
    latest: int | None = None
    positions: dict[SplitValue, int] = {}
    for values, timestamps in batches:
        times = timestamps
        if needed.timestamp is not None:
            moments = column(values, needed.timestamp)
            times = [milliseconds(moment) for moment in moments if moment is not None]
        if times is None and needed.position is None:
            raise no_time(described, origin)
        if times:
            latest = max(times) if latest is None else max(latest, *times)
        if needed.position is not None:
            reached = column(values, needed.position)
            of = [0] * len(reached) if needed.split is None else column(values, needed.split)
            for split, position in zip(of, reached, strict=True):
                if split is not None and position is not None:
                    positions[split] = max(positions.get(split, position), position)
    return checked_switch(latest, positions, needed, described, origin)


def checked_switch(
    end_timestamp: Any,
    positions: Mapping[Any, Any],
    needed: SwitchColumns,
    described: str,
    origin: CallSite | None,
) -> SourceSwitch:
    """Return a switch of values that were found in columns."""
    checks = (
        [(needed.timestamp, end_timestamp, int)] * (end_timestamp is not None)
        + [(needed.split, split, (int, str)) for split in positions]
        + [(needed.position, position, int) for position in positions.values()]
    )
    for name, value, kinds in checks:
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise SourceError(
                f"the column {name!r} of {described} has {value!r}, a {type(value).__name__}",
                hint="Times are timestamps or epoch milliseconds, positions whole numbers, and splits "
                "whole numbers or texts.",
                origin=origin,
            )
    return SourceSwitch(end_timestamp, tuple(sorted(positions.items(), key=repr)))


def batches_of(
    part: PositionedSource,
    splits: Sequence[tuple[int, int | None]],
    names: Sequence[str] | None,
) -> Iterator[Batch]:
    """Yield all records of a part that is read by positions."""
    keys: Sequence[SplitKey] = range(len(splits)) if names is None else names
    for key, (start, end) in zip(keys, splits, strict=True):
        assert end is not None, "a part before another one is bounded"
        yield from part.exact_batches(key, start, end, _BATCH_RECORDS)


def no_time(described: str, origin: CallSite | None) -> SourceError:
    """Return the error that records before a switch have no time."""
    return SourceError(
        f"the end of the records of {described} is unknown: they have no timestamps of their own",
        hint="Name the column of their times in add_source(…, timestamp=…), or of their positions.",
        origin=origin,
    )


def no_column(name: str, described: str, origin: CallSite | None) -> SourceError:
    """Return the error that records before a switch lack a column."""
    return SourceError(
        f"{described} has no column {name!r}, which the switch behind it requires",
        hint="Name a column that all records have.",
        origin=origin,
    )


def _column(
    values: Sequence[Any], name: str, *, described: str, origin: CallSite | None
) -> list[Any]:
    try:
        if values and isinstance(values[0], Mapping):
            return [value[name] for value in values]
        return [getattr(value, name) for value in values]
    except (KeyError, AttributeError) as cause:
        raise no_column(name, described, origin) from cause


def milliseconds(timestamp: Any) -> Any:
    """Return epoch milliseconds of a timestamp or an `Instant`, in UTC if it has no zone; a number as it is."""
    if isinstance(timestamp, Instant):
        return timestamp.to_epoch_milli()
    if not isinstance(timestamp, datetime):
        return timestamp
    known = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
    return (known - _EPOCH) // timedelta(milliseconds=1)
