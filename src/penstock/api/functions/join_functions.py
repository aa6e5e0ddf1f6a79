"""Function classes of co-groups and joins. Not in PyFlink; as in Flink's Java API."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeAlias, TypeVar

from penstock.api.functions.function_classes import Emitted, Function
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import IN1, IN2, OUT

V = TypeVar("V")


class JoinContext(Protocol):
    """What the function of an interval join sees of a pair."""

    def get_left_timestamp(self) -> int:
        """Return the time of the left record in epoch milliseconds."""

    def get_right_timestamp(self) -> int:
        """Return the time of the right record in epoch milliseconds."""

    def get_timestamp(self) -> int:
        """Return the time of the results: the later of the two."""

    def output(self, output_tag: OutputTag[V], value: V) -> None:
        """Emit to a side output; the same as to yield `(output_tag, value)`.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.
        """


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per key and window of two streams."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Return or yield the results of a key and window; None is no result.

        Called once per key and window that has a record.

        Args:
            first: The records of the first stream; none if it has none. Has a length, and can be
                read any number of times.
            second: Those of the second.
        """


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """One result per pair of records."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return the result for a pair; in outer joins one of the two may be None."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per pair of records."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Return or yield the results for a pair; None is no result.

        In outer joins one of the two may be None.
        """


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per pair of records, with access to time and side outputs."""

    Context: TypeAlias = JoinContext

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results for a pair; None is no result."""
