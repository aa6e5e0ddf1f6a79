"""The kinds of operators."""

from __future__ import annotations

from enum import Enum, auto


class OperatorKind(Enum):
    """What an operator does; `runtime.operators.OPERATORS` has one class per member."""

    MAP = auto()
    FLAT_MAP = auto()
    FILTER = auto()
    PROCESS = auto()
    TIMESTAMPS = auto()
    ASYNC = auto()
    KEYED_ASYNC = auto()
    KEYED_MAP = auto()
    KEYED_FLAT_MAP = auto()
    KEYED_FILTER = auto()
    KEYED_REDUCE = auto()
    KEYED_PROCESS = auto()
    KEYED_WINDOW = auto()
    CO_MAP = auto()
    CO_FLAT_MAP = auto()
    CO_PROCESS = auto()
    KEYED_CO_MAP = auto()
    KEYED_CO_FLAT_MAP = auto()
    KEYED_CO_PROCESS = auto()
    KEYED_CO_GROUP = auto()
    KEYED_INTERVAL_JOIN = auto()
    KEYED_REGULAR_JOIN = auto()
    BROADCAST_PROCESS = auto()
    KEYED_BROADCAST_PROCESS = auto()
    CUSTOM = auto()
    CO_CUSTOM = auto()
    KEYED_CUSTOM = auto()
    KEYED_CO_CUSTOM = auto()
