"""What one operator of a level is, as frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from penstock.errors import CallSite
from penstock.program.async_io import AsyncSpec
from penstock.program.folding.fold import FoldPlan
from penstock.program.join import IntervalSpec, JoinSpec
from penstock.program.operator_kind import OperatorKind
from penstock.program.timestamps import TimestampSpec
from penstock.program.window_operation import WindowSpec
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class Copies:
    """Which readers of an output get objects of their own (FLIP-329).

    Attributes:
        at_emission: Every value is copied when it leaves the function (of a source: when its
            batch is read), before the function goes on.
        type_info: What is known of the values; None is nothing.
        operators: Chained readers that get copies beside others.
        channels: Channels that do.
    """

    at_emission: bool = False
    type_info: TypeInformation | None = None
    operators: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()


NO_COPIES = Copies()
"""All readers get the objects that were emitted."""


@dataclass(frozen=True, slots=True)
class SideOutput:
    """Where the values of one output tag go.

    Attributes:
        tag: Id of the tag.
        result_type: Type the values are brought to; None leaves them as they are.
        chained_to: Ids of operators in the same level that take them.
        channels: Ids of channels that take them.
        copies: Which of these get copies.
    """

    tag: str
    result_type: TypeInformation | None = None
    chained_to: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()
    copies: Copies = NO_COPIES


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """One operator of a level.

    Attributes:
        id: Unique in the job.
        uid: Stable identity; state is kept under it.
        name: For people.
        kind: What it does.
        function: The user's function or object.
        method: Name of the method to call on `function`; None calls it directly.
        origin: The user's line that created the operator.
        key_selectors: Value to key, per input, for keyed kinds; None for an input without
            a key.
        timestamps: For TIMESTAMPS.
        result_type: Type the results are brought to; None leaves them as they are.
        chained_to: Ids of operators in the same level that take the output.
        channels: Ids of channels that take the output.
        side_outputs: Where values with an output tag go; those of other tags are dropped.
        parallelism: Number of subtasks; None is that of the run.
        broadcast_states: Names of the states of a broadcast input.
        window: For KEYED_WINDOW and KEYED_CO_GROUP.
        async_io: For ASYNC and KEYED_ASYNC.
        interval: For KEYED_INTERVAL_JOIN.
        join: For KEYED_REGULAR_JOIN.
        drops_timestamps: Results leave without timestamps: nothing behind looks at them.
        is_timeless: The job runs without time (FLIP-330), so asking for it is an error.
        sorts_itself: It groups its input by key itself, so that the runtime does not.
        copies: Which readers of the output get copies.
        verifies_promise: It is checked that values it has emitted are not changed by it.
        folding: Where and when it folds in a run; None if it does not.
    """

    id: int
    uid: str
    name: str
    kind: OperatorKind
    function: Any
    method: str | None
    origin: CallSite | None
    key_selectors: tuple[Callable[[Any], Any] | None, ...] = ()
    timestamps: TimestampSpec | None = None
    result_type: TypeInformation | None = None
    chained_to: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()
    side_outputs: tuple[SideOutput, ...] = ()
    parallelism: int | None = None
    broadcast_states: tuple[str, ...] = ()
    window: WindowSpec | None = None
    async_io: AsyncSpec | None = None
    interval: IntervalSpec | None = None
    join: JoinSpec | None = None
    drops_timestamps: bool = False
    is_timeless: bool = False
    sorts_itself: bool = False
    copies: Copies = NO_COPIES
    verifies_promise: bool = False
    folding: FoldPlan | None = None

    @property
    def takes_keys(self) -> bool:
        """Whether its records come as (key, value) pairs, and may be folded on their way."""
        return self.folding is not None and self.folding.takes_keys

    @property
    def fed_operators(self) -> tuple[int, ...]:
        """Ids of the operators that are called directly, those of side outputs included."""
        return tuple(chain(self.chained_to, *(side.chained_to for side in self.side_outputs)))

    @property
    def fed_channels(self) -> tuple[int, ...]:
        """Ids of the channels that are written, those of side outputs included."""
        return tuple(chain(self.channels, *(side.channels for side in self.side_outputs)))

    def key_type(self) -> TypeInformation | None:
        """Return the declared type of keys; None if it is not the same for all inputs with keys.

        A selector that brings keys to a type has it as its attribute `key_type`.
        """
        selectors = [selector for selector in self.key_selectors if selector is not None]
        found = {getattr(selector, "key_type", None) for selector in selectors}
        return found.pop() if len(found) == 1 else None
