"""Operators with two inputs and one key. Both inputs share state and timers.

Per key, the records of a micro-batch (live run) or of all input (batch run) are processed together:
those of the first input before those of the second, and in a batch run by timestamp if they have one,
behind results of a bounded region. The two inputs have no other order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, repeat
from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.exchange.results_first import results_among
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.application import input_calls
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.two_inputs import Batch, BuffersInputs, results_apart
from penstock.wire.elements import MIN_TIMESTAMP

Entry = tuple[int, Any, int | None]
"""(input, record, timestamp)."""


class KeyedTwoInputOperator(BuffersInputs, KeyedProcessOperator):
    """Buffers both inputs, then calls the method of the input on every record, key by key."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._calls = input_calls(spec.function, spec.method)

    def inputs_complete(self) -> None:
        """Process the buffered records, key by key."""
        waiting = self.take_waiting()
        final, group_of = self._final_watermark, self._group_of
        for key, entries in self._by_key(waiting).items():
            self.keys.key = key
            self.keys.group = group_of(key)
            self.process_entries(key, entries)
            if final is not None:
                self.end_key(final)
        self.flush()

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Process some records of input `number`; parts are in the order of `in_order`."""
        self.records_in += len(values)
        stamps = timestamps or repeat(None)
        entries = [(number, *stamped) for stamped in zip(values, stamps, strict=False)]
        if not results_among(values):
            self.in_order(entries)
        self.process_entries(self.keys.key, entries)

    def _by_key(self, waiting: list[list[Batch]]) -> dict[Any, list[Entry]]:
        """Return the records of each key in the order in which they are processed."""
        results, others = results_apart(waiting)
        found: dict[Any, list[Entry]] = {}
        for key, entry in self.with_keys(results):
            found.setdefault(key, []).append(entry)
        groups: dict[Any, list[Entry]] = {}
        for key, entry in self.with_keys(others):
            groups.setdefault(key, []).append(entry)
        for entries in groups.values():
            self.in_order(entries)
        if not found:
            return groups
        return {key: found.get(key, []) + groups.get(key, []) for key in {**found, **groups}}

    def with_keys(self, waiting: list[list[Batch]]) -> Iterator[tuple[Any, Entry]]:
        """Yield the records of buffered batches with their keys, input by input."""
        for number, batches in enumerate(waiting):
            for values, timestamps in batches:
                keys = self.keys_of(number, values)
                stamps = timestamps or repeat(None)
                for key, value, stamp in zip(keys, values, stamps, strict=False):
                    yield key, (number, value, stamp)

    def in_order(self, entries: list[Entry]) -> None:
        """Order the records of a key by time, in a batch run and if they have one."""
        if self._by_time and any(stamp is not None for _, _, stamp in entries):
            entries.sort(key=_time)  # stable: the first input goes first

    def process_entries(self, key: Any, entries: list[Entry]) -> None:
        """Process records of a key in the given order."""
        for (number, is_stamped), some in groupby(entries, key=_alike):
            _, values, stamps = zip(*some, strict=True)
            self.apply(
                self.inputs[number], list(values), list(stamps) if is_stamped else None, key=key
            )


def _alike(entry: Entry) -> tuple[int, bool]:
    """Return the value that entries processed together share."""
    return entry[0], entry[2] is not None


def _time(entry: Entry) -> int:
    return MIN_TIMESTAMP if entry[2] is None else entry[2]
