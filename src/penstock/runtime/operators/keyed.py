"""The base class of keyed operators: grouping by key, and one pass per key.

The runtime passes all records of a key group (batch run) or micro-batch (live run) together. They are
grouped per key in order of arrival; in a batch run, records with timestamps are then sorted by them,
as in Flink, behind results of a bounded region. Each key is processed once, from its first record to its last, and in a
batch run its timers follow.

If the records of a key do not fit in memory (batch run), an operator that supports it gets them in
parts, in the same order: `start_key`, `continue_key` for each part, `complete_key`.

The operator also checks the kinds of keys. A key selector that now returns `(r.user,)` instead of `r.user` silently
loses its state, because the new keys match no stored key. The first byte of a key's bytes is its kind
(`penstock.wire.canonical.key_bytes`): a number, text, a tuple …. Equal keys have the same kind. So before an operator
processes its first records with the state of another version of the program, it compares the kinds of their keys with
those of the stored keys:

    stored {text}            first {tuple}          refused
    stored {text}            first {text, tuple}    accepted: the program has both
    stored {text, number}    first {number}         accepted
    stored {text}            first {None}           undecided: None occurs among keys of any kind

The check runs once per subtask and operator, and only if the functions of the job differ from those that wrote
the state: state contains the digest of their code. So an unchanged program always continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import itemgetter, le
from typing import Any

from penstock.errors import StateMigrationError
from penstock.program.level import OperatorSpec
from penstock.program.selected_field import getter_of, got
from penstock.runtime.exchange.channel_writer import results_among
from penstock.runtime.exchange.group_order import KeyedRows
from penstock.runtime.exchange.selected_keys import by_value
from penstock.runtime.flow.output import Output, send_sides, sides_of, split_tagged
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.spill.spilled_values import SpilledValues
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.log.blob import decode_blob, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.state.schema.own_states import BY_WINDOW
from penstock.types import TypeInformation
from penstock.types.record_form import record_form
from penstock.user_failure import short
from penstock.wire.canonical.key_bytes import kind_of_key


class KindCheck:
    """Compares kinds of keys once.

    Attributes:
        left_by: Digest of the functions that wrote the state, None if it is unknown.
    """

    def __init__(
        self, spec: OperatorSpec, store: KeyedStateBackend, left_by: int | None, *, by_window: bool
    ) -> None:
        """Make the check; it reads the state later, when that is restored."""
        self.left_by = left_by
        self._spec = spec
        self._store = store
        self._by_window = by_window

    def settles(self, keys: list[Any]) -> bool:
        """Return whether the kinds match, or the state is empty; False if that is undecided."""
        examples = dict(zip(map(type, keys), keys, strict=True))
        met = {kind: key for key in examples.values() if (kind := kind_of_key(key)) is not None}
        if not met:
            return False
        stored: dict[str, Any] = {}
        for key in self._stored_keys():
            kind = kind_of_key(key)
            if kind in met:
                return True
            if kind is not None:
                stored[kind] = key
        if not stored:
            return True
        raise StateMigrationError(
            f"the stored keys of operator {self._spec.name!r} are of kind {_named(stored)}, but its first "
            f"records have keys of kind {_named(met)}, which match none of them",
            hint="Let the key selector return keys of the stored kind; to begin without the state, give the "
            "operator another uid; to use keys of both kinds, set execution.state-recovery.ignore-key-kinds.",
            origin=self._spec.origin,
        )

    def _stored_keys(self) -> Iterator[Any]:
        """Yield stored keys, of one class and section one."""
        for group in self._store.groups():
            if group == BROADCAST_GROUP:
                continue
            for blob in self._store.snapshot_group(group):
                if operator_of(blob) != self._spec.uid:
                    continue
                for section in decode_blob(blob):
                    keys = section.keys
                    if self._by_window:
                        keys = [k for k, _ in keys] if section.state in BY_WINDOW else []
                    yield from dict(zip(map(type, keys), keys, strict=True)).values()


def _named(kinds: dict[str, Any]) -> str:
    return ", ".join(f"{kind} (such as {short(kinds[kind])})" for kind in sorted(kinds))


Folded = tuple[list[Any], list[Any], list[int] | None]
"""(keys, accumulators, timestamps)."""

FLUSH_RECORDS = 4096
"""Greatest number of buffered results."""


class KeyedOperator(Operator):
    """Base of operators after key_by.

    Attributes:
        may_tag: Whether results may be `(OutputTag, value)`.
        has_keys_of_its_own: Whether the keys of its state are those of the records, not keys made of
            them.
        takes_keys_in_parts: Whether it takes the records of one key in parts; otherwise it gets
            all of them at once, whatever memory that takes.
        spill_space: Disk space for records that do not fit in memory (batch run).
        kind_check: Compares the kinds of the first keys with those of the state; None afterwards.
    """

    may_tag = False
    has_keys_of_its_own = True
    takes_keys_in_parts = False
    spill_space: SpillSpace | None = None
    kind_check: KindCheck | None = None

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context)
        self._selector = spec.key_selectors[0]
        self.keys = scope.context
        self.store = scope.store
        self._group_of = scope.group_of
        key_type = spec.key_type()
        if key_type is not None and self.has_keys_of_its_own:
            scope.store.declare_keys(spec.uid, key_type)
        self._sweeper = scope.sweeper
        self._epoch_began_at = 0
        self._sides = sides_of(output)
        self._values: list[Any] = []
        self._stamps: list[int] = []
        self._has_stamps = False
        self._by_time = False
        self._final_watermark: int | None = None
        self._is_last_run = False

    def use_batch_order(self, final_watermark: int, *, is_last_run: bool) -> None:
        """Process keys in batch order: records by time, timers after each key."""
        self._by_time = True
        self._final_watermark = final_watermark
        self._is_last_run = is_last_run

    @property
    def folds_frames(self) -> bool:
        """True if it folds a key group frame by frame, and emits results in `end_group`."""
        return False

    def take_folded(self) -> Folded | None:
        """Return and remove the accumulators of a key group if memory is used up.

        The caller passes them again, before the following records.
        """
        return None

    def on_processing_time(self, now_ms: int) -> None:
        """React to the wall clock, at the begin and end of a micro-batch (live run)."""

    def next_processing_time(self) -> int | None:
        """Return the time of the next call of `on_processing_time`, None if none is needed."""
        return None

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Group a batch by key and process every key."""
        final = self._final_watermark
        group_of = self._group_of
        for key, of_key, stamps in self._grouped(values, timestamps):
            self.keys.key = key
            self.keys.group = group_of(key)
            self.process_key(key, of_key, stamps)
            if final is not None:
                self.end_key(final)
        self.flush()

    @property
    def has_parts_by_time(self) -> bool:
        """True if parts of a key with timestamps must be in order of time, not of arrival."""
        return True

    def start_key(self, key: Any) -> None:
        """Begin a key whose records are passed in parts."""
        self.keys.key = key
        self.keys.group = self._group_of(key)

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Process some records of input `number`, all of the started key."""
        assert number == 0, f"{type(self).__name__} has one input"
        self.records_in += len(values)
        if self.spec.takes_keys:
            values = list(map(_value_of, values))
        self.process_key(self.keys.key, values, timestamps)

    def complete_key(self) -> None:
        """End the started key."""
        if self._final_watermark is not None:
            self.end_key(self._final_watermark)
        self.flush()

    def spilled_values(self, type_info: TypeInformation) -> SpilledValues:
        """Return an empty list of values of a type that spills to disk; the caller closes it (batch run)."""
        assert self.spill_space is not None, "keys come in parts in a batch run only"
        return SpilledValues(self.spill_space, self.spilled, record_form(type_info))

    def keys_of(self, number: int, values: list[Any]) -> list[Any]:
        """Return the keys of records of input `number`."""
        return self._keys_by(self.spec.key_selectors[number], values)

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Process the records of one key; it passes results to `emit`."""
        raise AssertionError(type(self).__name__)

    def end_group(self) -> None:
        """Emit buffered results at the end of a key group in a batch run; its state is written next."""

    def end_key(self, watermark: int) -> None:
        """React to the end of one key in a batch run."""

    def start_epoch(self) -> None:
        """Invalidate the caches of state handles."""
        self.keys.epoch += 1
        self._epoch_began_at = self.records_in

    def sweep(self, rewritten: Iterable[int], *, everything: bool) -> None:
        """Remove expired state that is not read, at the end of a micro-batch."""
        self._sweeper.sweep(self.records_in - self._epoch_began_at)
        for group in rewritten:
            self._sweeper.sweep_group(group)
        if everything:
            self._sweeper.sweep_all()

    def waiting_results(self, *, with_timestamps: bool) -> tuple[list[Any], list[int]]:
        """Return the lists of buffered results and timestamps; append, then call `flush_if_many`.

        Either every buffered result has a timestamp, or none has and the second list is ignored.
        Results may have an output tag.
        """
        if self._values and with_timestamps is not self._has_stamps:
            self.flush()
        self._has_stamps = with_timestamps
        return self._values, self._stamps

    def flush_if_many(self) -> None:
        """Emit the buffered results if there are a few thousand."""
        if len(self._values) >= FLUSH_RECORDS:
            self.flush()

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Emit results, a few thousand at a time; those of process functions may be tagged."""
        if values:
            results, stamps = self.waiting_results(with_timestamps=timestamps is not None)
            results += values
            if timestamps is not None:
                stamps += timestamps
            self.flush_if_many()

    def flush(self) -> None:
        """Emit all buffered results, those of side outputs included."""
        if not self._values:
            return
        values, stamps = self._values, self._stamps if self._has_stamps else None
        self._values, self._stamps = [], []
        if self.may_tag:
            (values, stamps), sides = split_tagged(values, stamps)
            send_sides(self._sides, sides)
        if values:
            self.output.collect(values, stamps)

    def advance_watermark(self, watermark: int) -> None:
        """Receive a watermark; results of timers are emitted before it is forwarded."""
        if watermark > self.watermark:
            self.watermark = watermark
            self.on_watermark(watermark)
            self.flush()
            self.output.advance_watermark(watermark)

    def _selected(self, selector: Callable[[Any], Any] | None, values: list[Any]) -> list[Any]:
        assert selector is not None, "every input has a key"
        getter = getter_of(selector)
        if getter is not selector:
            keys = got(getter, values)
            if keys is not None:
                return keys
        position = iter(values)
        try:
            return [selector(value) for value in position]
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause

    def _keys_by(self, selector: Callable[[Any], Any] | None, values: list[Any]) -> list[Any]:
        if type(values) is KeyedRows:
            keys = values.keys
        else:
            keys = by_value(self._selected(selector, values))
        if self.kind_check is not None:
            self._check_kinds(self.kind_check, keys)
        return keys

    def _keyed(self, values: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the keys of records, and the records without keys if the input has pairs."""
        keys = self._keys_by(self._selector, values)
        if type(values) is KeyedRows:
            return keys, values
        return keys, list(map(_value_of, values)) if self.spec.takes_keys else values

    def _check_kinds(self, check: KindCheck, keys: list[Any]) -> None:
        if check.settles(keys):
            self.kind_check = None

    def remember_code(self, code: int) -> int | None:
        """Return the digest of the functions that wrote the keys of the state, None if unknown."""
        return code if self.kind_check is None else self.kind_check.left_by

    def restore_code(self, code: int, left_by: int | None) -> None:
        """Compare kinds of keys if other functions wrote the state."""
        by_window = not self.has_keys_of_its_own
        self.kind_check = (
            None
            if code == left_by
            else KindCheck(self.spec, self.store, left_by, by_window=by_window)
        )

    def _grouped(
        self, values: list[Any], timestamps: list[int] | None
    ) -> Iterator[tuple[Any, list[Any], list[int] | None]]:
        groups: dict[Any, list[Any]] = {}
        keys, values = self._keyed(values)
        if timestamps is None:
            for key, value in zip(keys, values, strict=True):
                group = groups.get(key)
                if group is None:
                    groups[key] = [value]
                else:
                    group.append(value)
            return ((key, of_key, None) for key, of_key in groups.items())
        if self._by_time:
            keys, values, timestamps = in_order_of_time(keys, values, timestamps)
        stamped: dict[Any, tuple[list[Any], list[int]]] = {}
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            stamped_group = stamped.get(key)
            if stamped_group is None:
                stamped[key] = ([value], [timestamp])
            else:
                stamped_group[0].append(value)
                stamped_group[1].append(timestamp)
        return ((key, of_key, stamps) for key, (of_key, stamps) in stamped.items())


def in_order_of_time(
    keys: list[Any], values: list[Any], timestamps: list[int]
) -> tuple[list[Any], list[Any], list[int]]:
    """Return records sorted by timestamp, behind results; the sort is stable.

    It sorts all keys together, not key by key: the records of several tasks are a few ascending
    runs, which Python's sort merges quickly.
    """
    results = results_among(values)
    if all(map(le, islice(timestamps, results, None), islice(timestamps, results + 1, None))):
        return keys, values, timestamps
    others = sorted(range(results, len(timestamps)), key=timestamps.__getitem__)
    order = [*range(results), *others]
    return (
        list(map(keys.__getitem__, order)),
        list(map(values.__getitem__, order)),
        list(map(timestamps.__getitem__, order)),
    )


_value_of = itemgetter(1)
