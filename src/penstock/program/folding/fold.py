"""Folding: how the records of one key become one value, and where that is done.

    records ──▶ SOURCE_SQL ──▶ SENDER ──exchange──▶ RECEIVER_FRAME ──▶ RECEIVER_GROUP ──▶ STATE
                columns        task                 frames as they      all frames of     a key at
                                                    come                a key group       a time

reduce, sum, min, max, min_by, max_by, aggregate and the windows that keep one value are folds. Of
windows at regular distances what is folded are the records of a key and a pane. The planner chooses
the places (`plan.folding`) and says why; the runtime does what the plan says. Any legal choice
gives the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from penstock.errors import CallSite
from penstock.program.operator_kind import Emit
from penstock.program.window_operation import PaneShape
from penstock.types.information import TypeInformation


class Place(Enum):
    """Where records are folded. A run may use several places, one after the other."""

    SOURCE_SQL = auto()
    """In Spark SQL, while the records still are columns."""

    SENDER = auto()
    """In the task that sends them, before the exchange."""

    RECEIVER_FRAME = auto()
    """Behind the exchange, frame by frame as they come: no record waits for another."""

    RECEIVER_GROUP = auto()
    """Behind the exchange, all records of a key group together."""

    STATE = auto()
    """In the state of a key, which is read and written for it. Legal everywhere."""


@dataclass(frozen=True, slots=True)
class Promises:
    """Why a function that folds may be called for other groups of records than the program says.

    Attributes:
        associative: Why it gives the same in whatever groups records are folded that follow each
            other; completes "because …". None if nobody says so.
        commutative: Why it gives the same in whatever order.
    """

    associative: str | None = None
    commutative: str | None = None


NO_PROMISES = Promises()


@dataclass(frozen=True, slots=True)
class Fold:
    """What turns records into one value.

    Attributes:
        create: Makes an accumulator without records; None if the first record is one.
        add: With `create`: (record, accumulator) to accumulator, as `AggregateFunction.add`. Without:
            (accumulator, record), as `ReduceFunction.reduce`. One order for both would cost a call
            of Python per record.
        merge: (accumulator, accumulator) to accumulator; the first has the earlier records.
        result: Accumulator to result; None if they are the same.
        accumulator_type: Declared type of accumulators; None is any object.
        may_change: Accumulators may be changed by what they are given to.
    """

    create: Callable[[], Any] | None
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any] | None
    accumulator_type: TypeInformation | None
    may_change: bool = False

    def of_accumulators(self) -> Fold:
        """Return the fold of what was folded before, of other records."""
        return replace(self, create=None, add=self.merge)


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """Where and when one operator folds in one run.

    Attributes:
        places: Where; STATE always is one of them.
        emit: When results leave.
        ignores_order: The records of a key may be folded in any order.
        panes: Windows are kept in state pane by pane; None keeps them one by one.
    """

    places: frozenset[Place]
    emit: Emit
    ignores_order: bool = False
    panes: PaneShape | None = None

    @property
    def takes_keys(self) -> bool:
        """Whether records travel with their keys."""
        return not self.places.isdisjoint((Place.SENDER, Place.RECEIVER_FRAME))


@dataclass(frozen=True, slots=True)
class ColumnFold:
    """How the records of a key are folded where they are still columns.

    Attributes:
        key: Name of the column of keys.
        field: Name of the column that is aggregated.
        how: `sum`, `min` or `max`.
        names: Of all columns: these two, in order.
    """

    key: str
    field: str
    how: str
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class ChannelFold:
    """What the sender of a channel does with records that its reader folds.

    Attributes:
        fold: The reader's own.
        folds: The sender folds them. Else they leave one by one, with their keys.
        name: Of the reader, for messages.
        uid: Of the reader, for metrics.
        origin: The user's line that created the reader.
        memory_bytes: What a task may keep of it.
        panes: Cuts time, if the reader has windows at regular distances.
        assigner: The `WindowAssigner` of the API they come from.
        columns: Sources whose columns may be folded before records are made of them, and how.
    """

    fold: Fold
    folds: bool
    name: str
    uid: str
    origin: CallSite | None
    memory_bytes: int = 256 << 20
    panes: PaneShape | None = None
    assigner: Any = None
    columns: tuple[tuple[int, ColumnFold], ...] = ()
