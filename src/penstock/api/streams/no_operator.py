"""Streams that are not the result of an operator: the methods that set one up are refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NoReturn

from penstock.errors import GraphError


def refused(method: str) -> Callable[..., NoReturn]:
    """Return a method that refuses every call of it.

    Args:
        method: Its name.
    """

    def refuse(self: NoOperator, *arguments: object, **named: object) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        given = (*arguments, *named.values())
        is_short = all(isinstance(value, (int, str)) for value in given)
        raise self._refusal(f"{method}({', '.join(map(repr, given)) if is_short else '…'})")

    refuse.__name__ = method
    return refuse


class NoOperator(ABC):
    """Refuses what `OperatorSettings` offers. To be named before `DataStream` among the bases."""

    @abstractmethod
    def _refusal(self, call: str) -> GraphError:
        """Return the error for a call: it says what the stream is instead of an operator."""

    name = refused("name")
    uid = refused("uid")
    get_name = refused("get_name")
    set_parallelism = refused("set_parallelism")
    set_max_parallelism = refused("set_max_parallelism")
    force_non_parallel = refused("force_non_parallel")
    set_buffer_timeout = refused("set_buffer_timeout")
    start_new_chain = refused("start_new_chain")
    disable_chaining = refused("disable_chaining")
    slot_sharing_group = refused("slot_sharing_group")
    set_description = refused("set_description")
