"""Folds: they combine the records of one key into one value, or keep the last one, at one or more places.

    records ──▶ SOURCE_SQL ──▶ SENDER ──exchange──▶ RECEIVER_FRAME ──▶ RECEIVER_GROUP ──▶ STATE
                columns        task                 frame by frame      all frames of     key by key
                                                                        a key group

reduce, sum, min, max, min_by, max_by, aggregate and windows whose state is one value are folds. Windows
at regular distances fold the records of a key and a pane, sessions those of a key without a gap between
them. The planner chooses the places
(`plan.folding`) and explains the choice; the runtime executes it. All legal choices give the same
results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from penstock.errors import CallSite
from penstock.expressions.field_totals import FieldTotal
from penstock.program.operator_kind import Emit
from penstock.program.windows import RegularWindows
from penstock.types import TypeInformation


class Place(Enum):
    """A place at which records are folded. A run may use several places, one after the other."""

    SOURCE_SQL = auto()
    """Spark SQL, which folds the columns of a source."""

    SENDER = auto()
    """The sending task, before the exchange."""

    RECEIVER_FRAME = auto()
    """The receiving task, frame by frame: it buffers no records."""

    RECEIVER_GROUP = auto()
    """The receiving task, all records of a key group together."""

    STATE = auto()
    """The state of a key, which is read and written for each key. Always legal."""


@dataclass(frozen=True, slots=True)
class Promises:
    """The laws of a function that folds, which allow to call it for other groups of records.

    Attributes:
        associative: Why its result does not depend on the grouping of consecutive records; completes
            "because …". None if the law is unknown.
        commutative: Why its result does not depend on the order of records; None if unknown.
    """

    associative: str | None = None
    commutative: str | None = None


NO_PROMISES = Promises()


@dataclass(frozen=True, slots=True)
class Fold:
    """The functions that combine records into one value.

    Attributes:
        create: Makes an empty accumulator; None if the first record is the accumulator.
        add: With `create`: (record, accumulator) to accumulator, as `AggregateFunction.add`. Without:
            (accumulator, record), as `ReduceFunction.reduce`. One order for both would cost a call
            of Python per record.
        merge: (accumulator, accumulator) to accumulator; the first has the earlier records.
        result: Accumulator to result; None if they are the same.
        accumulator_type: Declared type of accumulators; None is any object.
        may_change: Whether the functions may change accumulators that are their arguments.
    """

    create: Callable[[], Any] | None
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any] | None
    accumulator_type: TypeInformation | None
    may_change: bool = False

    def of_accumulators(self) -> Fold:
        """Return the fold whose records are accumulators of this fold."""
        return replace(self, create=None, add=self.merge)


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """The places at which one operator folds in one run, and when it emits.

    Attributes:
        places: The places; STATE always is one of them.
        emit: When it emits results.
        ignores_order: The records of a key may be folded in any order.
        panes: The shape of windows whose state is in panes; None if each window has its own state.
        as_columns: Records are sent as columns.
        is_merged: Spark SQL has merged all records of a key: each key arrives once in a run.
    """

    places: frozenset[Place]
    emit: Emit
    ignores_order: bool = False
    panes: RegularWindows | None = None
    as_columns: bool = False
    is_merged: bool = False

    @property
    def takes_keys(self) -> bool:
        """True if the sender sends the keys of records too."""
        takes = not self.places.isdisjoint((Place.SENDER, Place.RECEIVER_FRAME))
        return takes and not self.as_columns


@dataclass(frozen=True, slots=True)
class ChannelFold:
    """The sender's part in the fold of a channel's reader.

    Attributes:
        folds: Whether the sender folds records; otherwise it sends each record with its key.
        name: Name of the reader, for messages.
        uid: uid of the reader, for metrics.
        memory_bytes: Memory of the sender's accumulators in one task.
        panes: The shape of the reader's windows, if they are at regular distances.
        session_gap_ms: The gap of the reader's sessions, if it is the same for all records.
        assigner: The `WindowAssigner` of the reader.
        columns: Sources whose columns Spark SQL may fold, each with its fold.
        aggregate: The `KeyedAggregate` whose parts are sent as columns; None if records are sent.
        of_sessions: The `KeyedAggregate` of sessions that are sent as records, and that Spark SQL may have merged; else None.
        keeps_time: Whether the reader of columns needs their timestamps.
        is_merged: See `FoldPlan`.
    """

    fold: Fold
    folds: bool
    name: str
    uid: str
    origin: CallSite | None
    memory_bytes: int = 256 << 20
    panes: RegularWindows | None = None
    session_gap_ms: int | None = None
    assigner: Any = None
    columns: tuple[tuple[int, FieldTotal], ...] = ()
    aggregate: Any = None
    of_sessions: Any = None
    keeps_time: bool = False
    is_merged: bool = False


LATEST_LAWS = Promises(associative="keeping the last record is associative")
"""It does not commute, so records with timestamps are folded in order of time."""


def latest(earlier: Any, later: Any) -> Any:
    """Return the later one of two records."""
    del earlier
    return later
