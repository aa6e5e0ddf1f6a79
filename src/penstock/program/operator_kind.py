"""What is true of a kind of operator: the columns of the catalogue in `program.operators`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class TimeUse(Enum):
    """What an operator does with the timestamps of its records (FLIP-330)."""

    IGNORES = auto()
    """It never looks at them; results take those of their records. MAP is one."""

    ORDERS = auto()
    """The same, but in a batch run it reads each key in order of time. KEYED_REDUCE is one."""

    SHOWS = auto()
    """It shows them to its function, and keeps the order of arrival. PROCESS is one."""

    TIMERS = auto()
    """Its function may have timers; their results have their time. KEYED_PROCESS is one."""

    ASSIGNS = auto()
    """It gives them. TIMESTAMPS is one."""

    OWN = auto()
    """It looks at them, and its results have times of its own. KEYED_WINDOW is one."""


class Keeps(Enum):
    """What an operator keeps of the values it has emitted (FLIP-329)."""

    NOTHING = auto()
    """It passes records on, or makes new ones. TIMESTAMPS is one."""

    AS_FUNCTION = auto()
    """What its function says, which is called once per result. MAP is one."""

    AS_OBJECT = auto()
    """The same, but a plain function is not believed: one call has several results. FLAT_MAP."""

    RESULTS = auto()
    """Results, or what they are made of, are in its state. KEYED_REDUCE is one."""

    STATE = auto()
    """Objects of its state, which it never changes itself. KEYED_REGULAR_JOIN is one."""

    AS_OPERATOR = auto()
    """What the user's own operator says in `get_operator_attributes`. CUSTOM is one."""


class Returns(Enum):
    """What a call of an operator's function returns."""

    ONE = auto()
    """One result. MAP is one."""

    TRUTH = auto()
    """Whether the record is the result. FILTER is one."""

    ONE_OR_NONE = auto()
    """One result, or None for none. CO_MAP is one."""

    MANY = auto()
    """Results to iterate over. FLAT_MAP is one."""

    MANY_OR_NONE = auto()
    """The same, or None for none. PROCESS is one."""

    OTHER = auto()
    """The operator looks after it itself. KEYED_WINDOW is one."""


class Emit(Enum):
    """When results leave an operator that folds the records of a key into one value."""

    ROLLING = auto()
    """With every record, the value so far. KEYED_REDUCE is one."""

    FINAL = auto()
    """Once per key, at the end of a batch run that asks for no more."""

    WINDOW_END = auto()
    """When a window fires. KEYED_WINDOW is one."""


class StateUse(Enum):
    """Whether operators of a kind keep state that outlives a micro-batch."""

    NEVER = auto()
    """There is nowhere to keep it. MAP is one."""

    IF_OPENED = auto()
    """If the function is an object that asks for state in `open`. KEYED_MAP is one."""

    ALWAYS = auto()
    """KEYED_REDUCE is one; of functions with timers nobody can tell before they run."""


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """One row of the catalogue.

    Attributes:
        name: Unique; part of fingerprints and of generated uids, so it stays what it is.
        implementation: Module and class that runs it, `package.module:Class`. None is no operator:
            the node says how records travel, or is a source or a sink.
        has_two_inputs: It tells two inputs apart.
        is_keyed: It uses the key of an input that has one.
        is_own: The user wrote the operator, not only its function.
        time: What it does with timestamps.
        keeps: What it keeps of emitted values.
        keeps_at_end: The same, if it answers once, at the end of its input, in a batch run.
        holds_input: The record objects it was given wait in it after the call.
        state: Whether it keeps state.
        own_states: Names of the states it keeps something of its own under.
        own_prefixes: Beginnings of such names.
        returns: What a call of its function returns.
        takes_context: Its function is given a context beside the record.
        makes_values: Not every value it emits is one it was given, or a pair of such.
        has_side_outputs: Its function may yield `(OutputTag, value)`.
        emit: It folds the records of a key (`program.folding`), and when results leave.
    """

    name: str
    implementation: str | None
    has_two_inputs: bool = False
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
        """Whether something runs; nodes without it say how records travel, or where from and to."""
        return self.implementation is not None

    def reserves(self, state: str) -> bool:
        """Return whether its function cannot have a state of this name."""
        return state in self.own_states or state.startswith(self.own_prefixes)
