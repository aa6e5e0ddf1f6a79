"""coGroup: two inputs with one key and the same windows, also one that fires at the end of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction
from itertools import chain, islice, repeat
from typing import Any

from penstock.errors import PenstockError
from penstock.program.join import TaggedUnion
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.two_inputs import (
    Batch,
    BuffersInputs,
    KeyedValues,
    Pairs,
    pairs_by_key,
)
from penstock.runtime.operators.windows.keyed_window import KeyedWindowOperator
from penstock.state.level_state import CurrentGroup
from penstock.user_failure import short
from penstock.wire.elements import MIN_TIMESTAMP


class CoGroupWindowOperator(BuffersInputs, KeyedWindowOperator):
    """coGroup over windows of any kind. It reads the first input first."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self.may_tag = False
        selectors: Any = spec.key_selectors
        self._selector = lambda tagged: selectors[tagged[0]](tagged[1])

    def inputs_complete(self) -> None:
        """Add the buffered records to their windows."""
        values: list[Any] = []
        stamps: list[int] = []
        for number, batches in enumerate(self.take_waiting()):
            for batch, times in batches:
                values += map(TaggedUnion, repeat(number), batch)
                stamps += repeat(MIN_TIMESTAMP, len(batch)) if times is None else times
        if values:
            self.process(values, stamps)

    @property
    def has_parts_by_time(self) -> bool:
        """True if parts of a key must be in order of time; its lists at the end of input are not."""
        return not self._fires_at_end

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Add some records of one input; of equal time, those of the first input precede."""
        self.records_in += len(values)
        stamps = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
        self.process_key(self.keys.key, list(map(TaggedUnion, repeat(number), values)), stamps)


# FLIP-331, rule 4.
class CoGroupAtEndOperator(CoGroupWindowOperator):
    """A `CoGroupWindowOperator` that makes no windows if every key has one."""

    def inputs_complete(self) -> None:
        """Call the function for every key, or add records to windows that fire later."""
        if self._fires_at_end:
            self._call_for_every_key()
            self.flush()
        else:
            super().inputs_complete()

    def _call_for_every_key(self) -> None:
        sides = [self._with_keys(*side) for side in enumerate(self.take_waiting())]
        call = self.emission.many(self._window.function.co_group)
        if not isgeneratorfunction(call):
            call = _some_or_none(call)
        for pairs in pairs_by_key(*sides):
            self._call_for_keys(call, pairs)

    def _call_for_keys(self, call: Callable[..., Any], pairs: Pairs) -> None:
        current, group_of = self.keys, self._group_of
        keys, firsts, seconds = pairs
        is_one_group = isinstance(group_of, CurrentGroup)
        groups = repeat(group_of(None), len(keys)) if is_one_group else map(group_of, keys)
        # Inside of a generator expression a StopIteration of the function comes out as an error; between
        # builtins, which take two thirds of the time, it would be the end of the keys.
        produced = (
            result
            for current.group, current.key, first, second in zip(
                groups, keys, firsts, seconds, strict=True
            )
            for result in call(first, second)
        )
        self._add_results(produced)

    def _add_results(self, produced: Iterator[Any]) -> None:
        """Pass on what a few keys give, which may be more than fits into memory."""
        while True:
            results, _ = self.waiting_results(with_timestamps=True)
            try:
                results.extend(islice(produced, FLUSH_RECORDS - len(results)))
            except BaseException as cause:
                raise self._failed_on_key(cause) from cause
            self._stamp()
            if len(self._values) < FLUSH_RECORDS:
                return
            self.flush()

    def _stamp(self) -> None:
        """Give the buffered results the time of the window."""
        assert self._window.end_of_stream is not None
        time = self._window.end_of_stream.max_timestamp()
        self._stamps.extend(repeat(time, len(self._values) - len(self._stamps)))

    def _with_keys(self, number: int, batches: list[Batch]) -> KeyedValues:
        values = batches[0][0] if len(batches) == 1 else list(chain(*(b for b, _ in batches)))
        return self.keys_of(number, values), values

    def _failed_on_key(self, cause: BaseException) -> PenstockError:
        return self.failed_in(f"key {short(self.keys.key)}", cause)


def _some_or_none(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns nothing to iterate over where `call` returns None."""

    def produced(first: Any, second: Any) -> Any:
        results = call(first, second)
        return () if results is None else results

    return produced
