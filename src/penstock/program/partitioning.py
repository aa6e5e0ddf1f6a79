"""Stream partitioners."""

from __future__ import annotations

from enum import Enum, auto


class StreamPartitioner(Enum):
    """Chooses the subtask of the next level that receives a record."""

    HASH = auto()
    """The owner of the key's key group."""

    FORWARD = auto()
    """The subtask with the sender's index, so records stay in order."""

    REBALANCE = auto()
    """One subtask after the other."""

    RESCALE = auto()
    """One after the other of a few subtasks: the sender's share of them."""

    SHUFFLE = auto()
    """A random one; the same whenever the task is repeated."""

    BROADCAST = auto()
    """All of them."""

    GLOBAL = auto()
    """The first one."""

    CUSTOM = auto()
    """The one that a function of the user's returns."""

    NONE = auto()
    """Any: the record is one of a sink, which any task may write."""
