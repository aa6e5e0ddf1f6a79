"""coGroup over a window that fires at the end of the input, in a batch run that reaches it.

All records of a key group are at hand, and every key has one window. So there is no window
bookkeeping and no state: the records of each input are put into one list per key, and the
function is called once per key. What is done per record runs in C.

Lists are in order of arrival, keys in that of their first record.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.operators.joins.two_sides import KeyedValues, pairs_by_key
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.windows.co_group_windows import Batch, CoGroupWindowOperator
from penstock.state.level_state import CurrentGroup
from penstock.user_failure import short


class CoGroupAtEndOperator(CoGroupWindowOperator):
    """As `CoGroupWindowOperator`, and without windows where none is needed."""

    def inputs_complete(self) -> None:
        """Call the function for every key, or add records to windows that fire later."""
        if self._is_dam:
            self._call_for_every_key()
            self.flush()
        else:
            super().inputs_complete()

    def _call_for_every_key(self) -> None:
        sides = [self._with_keys(*side) for side in enumerate(self.take_waiting())]
        call = self.emission.many(self._window.function.co_group)
        current, group_of = self.keys, self._group_of
        several_groups = not isinstance(group_of, CurrentGroup)
        if not several_groups:
            current.group = group_of(None)
        results, _ = self.waiting_results(with_timestamps=True)
        remaining: Iterator[Any] = iter(())  # used up whenever a key is done
        for key, first, second in pairs_by_key(*sides):
            current.key = key
            if several_groups:
                current.group = group_of(key)
            try:
                produced = call(first, second)
                if type(produced) is list:
                    results += produced
                elif produced is not None:
                    # One by one, which is faster than a slice for the few there usually are;
                    # and no more than that, as it may yield more than fits into memory.
                    remaining = iter(produced)
                    for result in remaining:
                        results.append(result)
                        if len(results) >= FLUSH_RECORDS:
                            break
            except BaseException as cause:
                raise self._failed_on_key(cause) from cause
            if len(results) >= FLUSH_RECORDS:
                results = self._send_all(remaining)
        self._stamp()

    def _send_all(self, remaining: Iterator[Any]) -> list[Any]:
        """Pass on what waits and the remaining results of a key; return where to add more."""
        while len(self._values) >= FLUSH_RECORDS:
            self._stamp()
            self.flush()
            results, _ = self.waiting_results(with_timestamps=True)
            try:
                results.extend(islice(remaining, FLUSH_RECORDS))
            except BaseException as cause:
                raise self._failed_on_key(cause) from cause
        return self._values

    def _stamp(self) -> None:
        """Give the results that wait the time of the window."""
        assert self._window.end_of_stream is not None
        time = self._window.end_of_stream.max_timestamp()
        self._stamps.extend(repeat(time, len(self._values) - len(self._stamps)))

    def _with_keys(self, number: int, batches: list[Batch]) -> KeyedValues:
        values = batches[0][0] if len(batches) == 1 else list(chain(*(b for b, _ in batches)))
        return self.keys_of(number, values), values

    def _failed_on_key(self, cause: BaseException) -> PenstockError:
        if isinstance(cause, PenstockError):
            return cause
        return self.failed_in(f"key {short(self.keys.key)}", cause)
