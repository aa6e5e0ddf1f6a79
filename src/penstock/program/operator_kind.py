"""The facts about a kind of operator: the columns of the catalogue in `program.operators`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Inputs(Enum):
    """Number of inputs that an operator distinguishes."""

    ONE = auto()
    """One, of any number of streams. Example: MAP."""

    TWO = auto()
    """Two, by methods whose names end in 1 and 2. Example: CO_MAP."""

    MANY = auto()
    """Any number, by the objects that `get_inputs` of the operator returns. Example: MULTIPLE_CUSTOM."""


class TimeUse(Enum):
    """Use of the records' timestamps by an operator (FLIP-330)."""

    IGNORES = auto()
    """It does not read them; results have those of their records. Example: MAP."""

    ORDERS = auto()
    """The same, but in a batch run it reads each key in order of time. Example: KEYED_REDUCE."""

    SHOWS = auto()
    """Its function may read them; it reads records in order of arrival. Example: PROCESS."""

    TIMERS = auto()
    """Its function may have timers, whose results have their time. Example: KEYED_PROCESS."""

    ASSIGNS = auto()
    """It assigns them. Example: TIMESTAMPS."""

    OWN = auto()
    """It reads them, and assigns other timestamps to its results. Example: KEYED_WINDOW."""


PROMISE = "is_output_value_stored"
"""The method in which a function declares whether it stores its results (FLIP-329); for a plain function, an
attribute."""


class Keeps(Enum):
    """Storage by an operator of the values that it has emitted (FLIP-329)."""

    NOTHING = auto()
    """It stores none: it emits its records, or new ones. Example: TIMESTAMPS."""

    AS_FUNCTION = auto()
    """Its function decides, which is called once per result. Example: MAP."""

    AS_OBJECT = auto()
    """A function object decides; a plain function may store, since one call has several results.
    Example: FLAT_MAP."""

    RESULTS = auto()
    """Its state contains results, or components of them. Example: KEYED_REDUCE."""

    STATE = auto()
    """It emits objects of its state, which it never changes itself. Example: KEYED_REGULAR_JOIN."""

    AS_OPERATOR = auto()
    """`get_operator_attributes` of the user's own operator decides. Example: CUSTOM."""


class Returns(Enum):
    """The return value of an operator's function."""

    ONE = auto()
    """One result. Example: MAP."""

    TRUTH = auto()
    """A boolean: whether the record is the result. Example: FILTER."""

    ONE_OR_NONE = auto()
    """One result, or None for no result. Example: CO_MAP."""

    MANY = auto()
    """An iterable of results. Example: FLAT_MAP."""

    MANY_OR_NONE = auto()
    """An iterable of results, or None for no result. Example: PROCESS."""

    OTHER = auto()
    """Another value, which the operator handles itself. Example: KEYED_WINDOW."""


class Emit(Enum):
    """Time at which an operator that folds the records of a key emits results."""

    ROLLING = auto()
    """With every record, the value so far. Example: KEYED_REDUCE."""

    FINAL = auto()
    """Once per key: at the end of a batch run with final results only, or of a micro-batch. Example: KEYED_LATEST."""

    WINDOW_END = auto()
    """At the end of a window. Example: KEYED_WINDOW."""


class StateUse(Enum):
    """State of the operators of a kind that outlives a micro-batch."""

    NEVER = auto()
    """They have no state. Example: MAP."""

    IF_OPENED = auto()
    """They have state if the function is an object with `open`. Example: KEYED_MAP."""

    ALWAYS = auto()
    """They have state, or may have timers, which is unknown before they run. Example: KEYED_REDUCE."""


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """One row of the catalogue.

    Attributes:
        name: Unique name. It must not change: fingerprints and generated uids contain it.
        implementation: Module and class that runs it, `package.module:Class`. None is no operator:
            the node routes records, or is a source or a sink.
        is_keyed: Whether it uses the key of an input that has one.
        is_own: Whether the user wrote the operator, not only its function.
        keeps: Whether it stores emitted values.
        keeps_at_end: The same, if it emits once, at the end of its input, in a batch run.
        holds_input: Whether it refers to its input records after the call.
        own_states: Names of the states that the operator itself uses, not its function.
        takes_context: Whether its function has a context as second argument.
        makes_values: Whether it emits values other than its input values, pairs of them, and values that have the
            declared form by construction.
        has_side_outputs: Whether its function may yield `(OutputTag, value)`.
        emit: When it emits results, if it folds the records of a key (`program.fold`), else None.
    """

    name: str
    implementation: str | None
    inputs: Inputs = Inputs.ONE
    is_keyed: bool = False
    is_own: bool = False
    time: TimeUse = TimeUse.OWN
    keeps: Keeps = Keeps.RESULTS
    keeps_at_end: Keeps | None = None
    holds_input: bool = False
    state: StateUse = StateUse.NEVER
    own_states: tuple[str, ...] = ()
    own_prefixes: tuple[str, ...] = ()
    returns: Returns = Returns.OTHER
    takes_context: bool = False
    makes_values: bool = True
    has_side_outputs: bool = False
    emit: Emit | None = None

    @property
    def is_operator(self) -> bool:
        """True if it is an operator; other nodes route records, or are sources and sinks."""
        return self.implementation is not None

    @property
    def distinguishes_inputs(self) -> bool:
        """True if each stream that it reads is an input of its own."""
        return self.inputs is not Inputs.ONE

    def reserves(self, state: str) -> bool:
        """Return whether the operator itself uses a state of this name, so that its function cannot."""
        return state in self.own_states or state.startswith(self.own_prefixes)
