"""How records find the subtask that receives them."""

from __future__ import annotations

from enum import Enum, auto


class StreamPartitioner(Enum):
    """Which subtask of the next level receives a record."""

    HASH = auto()
    """The owner of the key's key group."""

    FORWARD = auto()
    """The subtask with the sender's index, so order is kept."""

    REBALANCE = auto()
    """One subtask after the other."""

    RESCALE = auto()
    """One after the other of a few subtasks: those nearest to the sender."""

    SHUFFLE = auto()
    """A random one; the same whenever the task is repeated."""

    BROADCAST = auto()
    """All of them."""

    GLOBAL = auto()
    """The first one."""

    CUSTOM = auto()
    """The one a function of the user names."""

    NONE = auto()
    """None: the record goes to a sink, where it is written does not matter."""
