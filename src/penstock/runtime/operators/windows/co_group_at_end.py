"""coGroup over a window that fires at the end of the input, in a batch run that reaches it.

The operator has all records of a key group, and every key has one window. So it needs neither window
bookkeeping nor state: it groups the records of each input into one list per key, and calls the
function once per key. The grouping runs in C.

Lists are in order of arrival, keys in the order of their first record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction
from itertools import chain, islice, repeat
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.operators.joins.two_sides import KeyedValues, Pairs, pairs_by_key
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.two_inputs import Batch
from penstock.runtime.operators.windows.co_group_windows import CoGroupWindowOperator
from penstock.state.level_state import CurrentGroup
from penstock.user_failure import short


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
