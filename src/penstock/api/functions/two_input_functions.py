"""Function classes for connected streams: a method per input, one object for both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeAlias

from penstock.api.functions.context import (
    BroadcastBaseContext,
    BroadcastContext,
    KeyedBroadcastOnTimerContext,
    KeyedProcessContext,
    KeyedReadOnlyBroadcastContext,
    OnTimerContext,
    ReadOnlyBroadcastContext,
    UnkeyedProcessContext,
)
from penstock.api.functions.function_classes import Emitted, Function
from penstock.types.type_parameters import IN1, IN2, OUT, K


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """One result per record of either input; None is none."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT | None:
        """Return the result for a record of the first input."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT | None:
        """Return the result for a record of the second input."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per record of either input; None is none."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Return or yield the results for a record of the first input."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Return or yield the results for a record of the second input."""


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per record of either input, with access to time."""

    Context: TypeAlias = UnkeyedProcessContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a record of the first input."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a record of the second input."""


class KeyedCoProcessFunction(Function, Generic[K, IN1, IN2, OUT]):
    """The same on two streams of one key, with keyed state and timers, shared by both inputs."""

    Context: TypeAlias = KeyedProcessContext
    OnTimerContext: TypeAlias = OnTimerContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a record of the first input."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a record of the second input."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a timer of the key."""


class BaseBroadcastProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """What functions on a broadcast connected stream have in common."""

    BaseContext: TypeAlias = BroadcastBaseContext
    Context: TypeAlias = BroadcastContext
    ReadOnlyContext: TypeAlias = ReadOnlyBroadcastContext

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a broadcast element; may change broadcast state.

        Every subtask is called with every element. State is only the same in all of them if the
        function does the same whenever it gets the same element.
        """


class BroadcastProcessFunction(BaseBroadcastProcessFunction[IN1, IN2, OUT]):
    """Processes a stream without a key beside a broadcast one."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a record; may read broadcast state."""


class KeyedBroadcastProcessFunction(
    BaseBroadcastProcessFunction[IN1, IN2, OUT], Generic[K, IN1, IN2, OUT]
):
    """Processes a stream with a key beside a broadcast one; keyed state and timers."""

    ReadOnlyContext: TypeAlias = KeyedReadOnlyBroadcastContext
    OnTimerContext: TypeAlias = KeyedBroadcastOnTimerContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a record; may read broadcast state."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Emitted[OUT]] | None:
        """Return or yield results for a timer of the key."""
