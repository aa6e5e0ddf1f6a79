"""Streams that are not the result of an operator: the methods that set one up are refused."""

from __future__ import annotations

from typing import NoReturn

from penstock.errors import GraphError


class NoOperator:
    """Refuses what `OperatorSettings` offers. To be named before `DataStream` among the bases."""

    def name(self, name: str) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal(f"name({name!r})")

    def uid(self, uid: str) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal(f"uid({uid!r})")

    def get_name(self) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("get_name()")

    def set_parallelism(self, parallelism: int) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal(f"set_parallelism({parallelism})")

    def set_max_parallelism(self, max_parallelism: int) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal(f"set_max_parallelism({max_parallelism})")

    def force_non_parallel(self) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("force_non_parallel()")

    def set_buffer_timeout(self, timeout_millis: int) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal(f"set_buffer_timeout({timeout_millis})")

    def start_new_chain(self) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("start_new_chain()")

    def disable_chaining(self) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("disable_chaining()")

    def slot_sharing_group(self, slot_sharing_group: object) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("slot_sharing_group(…)")

    def set_description(self, description: str) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        raise self._refusal("set_description(…)")

    def _refusal(self, call: str) -> GraphError:
        """Return the error for a call."""
        raise AssertionError(call)  # every class says what it is instead of an operator
