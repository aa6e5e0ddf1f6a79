"""The program of one level and the description of its operators, as frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from penstock.errors import CallSite
from penstock.program.channel import ChannelSpec, WatermarkGroup
from penstock.program.fold import FoldPlan
from penstock.program.function_calls import AsyncSpec, BatchSpec
from penstock.program.join import IntervalSpec, JoinSpec
from penstock.program.operator_kind import OperatorKind, StateUse
from penstock.program.run_settings import RunSettings
from penstock.program.timestamps import TimestampSpec
from penstock.program.window_operation import WindowSpec
from penstock.types import TypeInformation

_OURS = "penstock.api."
"""Package of the base classes of functions."""


def has_life_cycle(function: Any) -> bool:
    """Return whether a function overrides `open` or `close`, and so may access state.

    A plain callable has neither, and those of our base classes do nothing.
    """
    return has_open(function) or _is_own(function, "close")


def has_open(function: Any) -> bool:
    """Return whether a function has an `open` of its own, in which it may request state."""
    return _is_own(function, "open")


def _is_own(function: Any, name: str) -> bool:
    method = getattr(function, name, None)
    return method is not None and not str(getattr(method, "__module__", "")).startswith(_OURS)


@dataclass(frozen=True, slots=True)
class Copies:
    """The readers of an output that get copies (FLIP-329).

    Attributes:
        at_emission: Whether every value is copied when the function emits it, before the function
            goes on (for a source: when its batch is read).
        type_info: Type of the values; None if it is unknown.
        operators: Ids of chained readers that get copies.
        channels: Ids of channels that get copies.
    """

    at_emission: bool = False
    type_info: TypeInformation | None = None
    operators: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()


NO_COPIES = Copies()
"""All readers get the emitted objects."""


@dataclass(frozen=True, slots=True)
class SideOutput:
    """The readers of the values of one output tag.

    Attributes:
        result_type: Type that the values are coerced to; None does not coerce.
        chained_to: Ids of the operators of the same level that read them.
        channels: Ids of the channels that read them.
        copies: The readers that get copies.
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
        uid: Stable identity; state is stored under it.
        kind: Its row in the catalogue of operators.
        function: The user's function or object.
        method: Name of the method to call on `function`; None calls it directly.
        input_types: Per input the type of its records, if serializers of the program write them; None pickles them.
        key_selectors: Value to key, per input, for keyed kinds; None for an input without
            a key.
        result_type: Type that the results are coerced to; None does not coerce.
        chained_to: Ids of the operators of the same level that read the output.
        side_outputs: Readers of values with an output tag; values of other tags are dropped.
        parallelism: Number of subtasks; None is that of the run.
        broadcast_states: Names of the states of a broadcast input.
        window: For KEYED_WINDOW and KEYED_CO_GROUP.
        async_io: For ASYNC, KEYED_ASYNC and ASYNC_MAP_BATCHES.
        batches: For MAP_BATCHES, ASYNC_MAP_BATCHES and KEYED_MAP_GROUPS.
        interval: For KEYED_INTERVAL_JOIN.
        join: For KEYED_REGULAR_JOIN.
        drops_timestamps: Whether results have no timestamps, because no operator downstream reads them.
        is_timeless: Whether the job runs without time (FLIP-330), so that reading it is an error.
        sorts_itself: Whether it groups its input by key itself, so that the runtime does not.
        copies: The readers of the output that get copies.
        verifies_promise: Whether the runtime verifies that it does not change emitted values.
        folding: Its fold plan in a run; None if it does not fold.
    """

    id: int
    uid: str
    name: str
    kind: OperatorKind
    function: Any
    method: str | None
    origin: CallSite | None
    input_count: int = 1
    input_types: tuple[TypeInformation | None, ...] = ()
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
    batches: BatchSpec | None = None
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
        """True if its input is (key, value) pairs, which may be folded before the exchange."""
        return self.folding is not None and self.folding.takes_keys

    def input_type(self, number: int) -> TypeInformation | None:
        """Return the type of the records of an input if serializers of the program write them."""
        return self.input_types[number] if number < len(self.input_types) else None

    @property
    def may_have_state(self) -> bool:
        """True if it has state that outlives a micro-batch, as far as that is known before it runs."""
        if self.kind.state is StateUse.IF_OPENED:
            return self.method is not None and has_open(self.function)
        return self.kind.state is StateUse.ALWAYS

    @property
    def fed_operators(self) -> tuple[int, ...]:
        """Ids of the chained readers, those of side outputs included."""
        return tuple(chain(self.chained_to, *(side.chained_to for side in self.side_outputs)))

    @property
    def fed_channels(self) -> tuple[int, ...]:
        """Ids of the channels that it writes, those of side outputs included."""
        return tuple(chain(self.channels, *(side.channels for side in self.side_outputs)))

    def key_type(self) -> TypeInformation | None:
        """Return the declared type of keys; None if the inputs with keys have different ones.

        A selector that coerces keys has their type as its attribute `key_type`.
        """
        selectors = [selector for selector in self.key_selectors if selector is not None]
        types = {getattr(selector, "key_type", None) for selector in selectors}
        return types.pop() if len(types) == 1 else None


@dataclass(frozen=True, slots=True)
class SourceType:
    """The declared type of a source whose records must be coerced."""

    name: str
    type_info: TypeInformation
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class ComputedSource:
    """The results that Spark SQL makes of a source.

    Attributes:
        type_info: Their type. Its fields are the columns.
        timestamps: For windows, the operator that assigns timestamps: the last column contains for each result whether all
            its records have one. None if there is no such column.
    """

    type_info: TypeInformation
    timestamps: OperatorSpec | None = None


@dataclass(frozen=True, slots=True)
class LevelProgram:
    """The program of a level in one run.

    Attributes:
        level: Exchange depth.
        operators: In topological order.
        source_operators: Source id to the ids of the operators that read it; level 0 only.
        source_channels: Source id to the channels it feeds directly; level 0 only.
        inputs: Channels this level reads from other levels.
        outputs: Channels this level writes to other levels, and to sinks.
        watermark_groups: Input channel to the groups it waits for.
        source_types: Source id to declared type, of sources whose records must be coerced; level
            0 only.
        untimed_sources: Sources whose timestamps are dropped; level 0 only.
        source_copies: Source id to the copies that its readers get; level 0 only.
        computed_sources: Source id to the results that Spark SQL makes of it; level 0 only.
        is_local: In a batch run each key arrives once, and nothing depends on which task gets it: so that may be the task of level
            0 that has it.
    """

    level: int
    operators: tuple[OperatorSpec, ...]
    source_operators: dict[int, tuple[int, ...]]
    source_channels: dict[int, tuple[int, ...]]
    inputs: tuple[ChannelSpec, ...]
    outputs: tuple[ChannelSpec, ...]
    watermark_groups: dict[int, tuple[WatermarkGroup, ...]]
    settings: RunSettings
    source_types: dict[int, SourceType] = field(default_factory=dict)
    untimed_sources: frozenset[int] = frozenset()
    source_copies: dict[int, Copies] = field(default_factory=dict)
    local_channels: tuple[ChannelSpec, ...] = ()
    computed_sources: dict[int, ComputedSource] = field(default_factory=dict)
    is_local: bool = False
