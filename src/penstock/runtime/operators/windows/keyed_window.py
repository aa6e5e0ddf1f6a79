"""window and window_all: assign records to windows, and evaluate windows.

| storage of windows                  | places of the plan (`OperatorSpec.folding`)              |
|-------------------------------------|---------------------------------------------------------|
| accumulators in memory (`windows.panes`, or at the end of the input one value per key) | RECEIVER_GROUP or RECEIVER_FRAME, one value per window |
| columns in memory (`windows.pane_columns`) | the same, parts of aggregates that are sent as columns |
| lists in memory (`windows.complete`, or at the end of the input all records) | RECEIVER_GROUP, all records |
| panes (`windows.panes`)             | STATE, windows at regular distances that fire at their end |
| single windows (`windows.general`)  | STATE, all other windows                                |

Only windows that end in a batch run are in memory; other windows are always in state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

from penstock.errors import PenstockError
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.program.fold import Fold, Place
from penstock.program.level import OperatorSpec, has_life_cycle
from penstock.program.operator_fold import fold_of_window, merges
from penstock.program.window_operation import Evaluation, WindowSpec
from penstock.program.windows import RegularWindows
from penstock.runtime.exchange.group_order import KeyedRows
from penstock.runtime.flow.output import Output, send_sides
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.loops import result_of
from penstock.runtime.fold.panes import pane_starts
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.runtime.fold.sender_fold import refuse_untimed
from penstock.runtime.fold.sessions import merged_pieces
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.expressions import WriteColumns
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.keyed_fold import KeyedFoldOperator
from penstock.runtime.operators.windows.complete import (
    CompleteWindows,
    GrowingContents,
    growing_contents,
)
from penstock.runtime.operators.windows.contents import make_contents, seen_of
from penstock.runtime.operators.windows.evaluation import (
    FunctionContext,
    ResultsOutput,
    WindowCall,
    no_window_state,
)
from penstock.runtime.operators.windows.general import GeneralEngine
from penstock.runtime.operators.windows.host import WindowEngine, WindowHost
from penstock.runtime.operators.windows.pane_columns import ColumnWindows, takes_columns
from penstock.runtime.operators.windows.panes import FoldedWindows, PaneEngine
from penstock.runtime.operators.windows.scoped_states import ScopedStates
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE, InternalTimerService
from penstock.state.handles.key_context import KeyContext
from penstock.state.schema.own_states import WINDOW_FUNCTION_PREFIX
from penstock.user_failure import short
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.row_columns import ColumnRecords, rows_of


class KeyedWindowOperator(KeyedFoldOperator):
    """Stores the windows of every key, and calls the user's function when they fire.

    Time is that of `KeyedProcessOperator`: in a batch run the watermark is Long.MIN while the records
    of a key are added, so that none is late, and its windows fire after the last record. If the records
    of a key are passed in parts, in order of time, complete windows fire between parts to save memory.
    That is done only for windows that fire at their end, whose results do not change by it.
    """

    has_keys_of_its_own = False  # but pairs of a key and a window

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        assert spec.window is not None
        self._results: ResultsOutput | None = None
        if spec.window.results is not None:
            output = self._results = ResultsOutput(output, spec)
        super().__init__(spec, output, context, scope)
        self._window: WindowSpec = spec.window
        self.late_records: int = 0
        self.may_tag = spec.window.evaluation is not Evaluation.NONE
        self._fold = fold_of_window(spec.window)
        is_folded = self._fold is not None and Place.SENDER in self.folding.places
        if self._fold is not None and is_folded:
            self._fold = self._fold.of_accumulators()  # the input has accumulators
        is_cut = self.folding.as_columns and spec.window.session_gap_ms is not None
        self._space = KeyContext()
        self._timers = InternalTimerService(
            scope.store.timers(spec.uid, TABLE),
            scope.store.timers(spec.uid, PROCESSING_TABLE),
            self._space,
            scope.now_ms,
        )
        space = replace(scope, context=self._space)
        states = ScopedStates(spec, space, WINDOW_FUNCTION_PREFIX)
        seen = FunctionContext(
            self._timers,
            no_window_state if self._window.is_merging else lambda: states,
            context,
        )
        self._host = WindowHost(
            spec=spec,
            window=self._window,
            keys=self.keys,
            scope=space,
            context=context,
            timers=self._timers,
            call=WindowCall(spec, seen, self.emission),
            send=self._send,
            failed=self._failed,
            failed_in=self.failed_in,
            fold=self._fold,
            session_gap_ms=spec.window.session_gap_ms if is_folded or is_cut else None,
        )
        function = spec.window.fold_function
        self._merge: PartsMerge | None = None
        if is_cut and isinstance(function, KeyedAggregate):
            self._merge = PartsMerge(function, spec.name, spec.origin)
        self._engine: WindowEngine
        self._held: list[Any] = []
        self._contents_so_far: GrowingContents | None = None
        self._fires_between = False
        self._complete: CompleteWindows | None = None
        self._folded: FoldedWindows | None = None
        self._write: WriteColumns | None = None
        self._columns: ColumnWindows | None = None
        if takes_columns(spec):
            self._columns = ColumnWindows(spec, partial(self.keys_of, 0))
        self._comes_in_batches = False

    @property
    def makes_columns(self) -> bool:
        """True if its results may have a form as columns."""
        return (
            self._columns is not None and self._results is not None and self._results.makes_columns
        )

    def send_columns(self, write: WriteColumns, *, only: bool) -> None:
        """Send results that it has as columns as columns from now on."""
        assert not only, "parts are made by a selection"
        self._write = write

    def open(self) -> None:
        """Open the user's functions, and make the window engine."""
        for function in self._functions():
            self._call_functions("open", getattr(function, "open", None), self.context)
        contents = make_contents(self.spec, self._host.scope, self._fold)
        panes = self.folding.panes
        if panes is None or not self._shares(panes):
            self._engine = GeneralEngine(self._host, contents)
            return
        self._engine = engine = PaneEngine(self._host, panes, contents)
        if self._fold is not None:
            self._folded = FoldedWindows(self._host, self._fold, panes, engine, self._send_whole)
        elif Place.RECEIVER_GROUP in self.folding.places:
            self._complete = CompleteWindows(self._host, panes)

    def close(self) -> None:
        """Close the user's functions."""
        for function in self._functions():
            self._call_functions("close", getattr(function, "close", None))

    def start_epoch(self) -> None:
        """Invalidate the caches of state handles."""
        super().start_epoch()
        self._space.epoch += 1

    def fold(self) -> Fold | None:
        """Return the fold of the input; None if all records are stored."""
        return self._fold

    @property
    def is_foldable(self) -> bool:
        """True if the input may be folded in the table: windows at the end of the input fire in this run."""
        return self.table is not None and (self._window.end_of_stream is None or self._fires_at_end)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Fold a batch, or the pieces of sessions of columns; columns of other windows wait until their key group ends."""
        if isinstance(values, ColumnRecords) and values:
            if self._merge is not None:
                values, timestamps = self._pieces(self._merge, values, timestamps)
            elif self._waits(values, timestamps):
                return
        if values and self._columns:
            self._fold_columns(self._columns)
        super().process(values, timestamps)

    def _waits(self, values: ColumnRecords, timestamps: list[int] | None) -> bool:
        """Add columns to those of their key group, if they are folded as columns."""
        if self.table is None or self._columns is None or self.table.records:
            return False
        return self._columns.add(values, self._timed(values, timestamps))

    def _fold_columns(self, columns: ColumnWindows) -> None:
        """Add columns to the table, because other records of the key group are no columns."""
        assert self.table is not None, "they wait in a batch run only"
        for pane, of_key in columns.entries(*columns.take()).items():
            assert pane is not None, "windows at regular distances have panes"
            self.table.add(list(of_key), iter(of_key.values()), [pane] * len(of_key))

    def _timed(self, values: ColumnRecords, timestamps: list[int] | None) -> list[int]:
        """Return timestamps, which all records have."""
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            refuse_untimed(self._window.assigner, iter(values.rows()), timestamps)
        assert timestamps is not None, "records without timestamps are refused"
        return timestamps

    def _pieces(
        self, merge: PartsMerge, values: ColumnRecords, timestamps: list[int] | None
    ) -> tuple[list[Any], list[int]]:
        """Return pairs of accumulators and times of last records, with the times of the first ones."""
        gap = self._window.session_gap_ms
        assert gap is not None, "only sessions have pieces"
        timestamps = self._timed(values, timestamps)
        parts = [merge.columns.prepared(batch) for batch in values.batches]
        pieces = merged_pieces(merge, parts, timestamps, gap, self._timers.current_watermark())
        rows = rows_of(pieces.parts)
        keys = self.keys_of(0, rows)
        return KeyedRows(list(zip(rows, pieces.lasts, strict=True)), keys), pieces.firsts

    def panes_of(
        self, keys: list[Any], values: Iterator[Any], timestamps: list[int] | None
    ) -> list[int] | None:
        """Return the begin of the pane of each record; None if its window is that of all records."""
        panes = self.folding.panes
        if panes is None:
            return None
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            refuse_untimed(self._window.assigner, values, timestamps)
        assert timestamps is not None, "records without timestamps are refused"
        return pane_starts(timestamps, panes)

    def end_group(self) -> None:
        """Fire the windows of a key group whose records were columns, or were folded in the table."""
        if self._columns:
            self._fire_columns(self._columns)
        super().end_group()

    def _fire_columns(self, columns: ColumnWindows) -> None:
        """Fire the windows that end in this run, and write the panes of others to state."""
        final, folded, results = self._final_watermark, self._folded, self._results
        assert final is not None, "columns wait in a batch run only"
        assert folded is not None, "they are folded by pane"
        assert results is not None, "they are parts of results"
        limit = folded.first_left(final)
        parts, panes = columns.take()
        fired, ends = columns.windows_before(limit, parts, panes)
        for start in range(0, fired.num_rows, FLUSH_RECORDS):
            lasts = (ends[start : start + FLUSH_RECORDS] - 1).tolist()
            results.collect_columns(fired.slice(start, FLUSH_RECORDS), lasts, self._write)
        if limit is not None:
            self._timers.watermark = final
            folded.keep(columns.entries_from(limit, parts, panes), self._group_of, limit)
            self._timers.fire_all_keys(final, self._on_event_time)
            self._timers.watermark = MIN_TIMESTAMP
            self.flush()

    def give(self, entries: Entries) -> None:
        """Fire the windows of a key group, and write the state that a later run needs."""
        final = self._final_watermark
        assert final is not None, "only a batch run has a table"
        self._timers.watermark = final
        if self._folded is None:
            (of_key,) = entries.values()
            self._give_last(of_key)
        elif self._folded.fire(entries, self._group_of, final):
            self._timers.fire_all_keys(final, self._on_event_time)
        self._timers.watermark = MIN_TIMESTAMP

    def start_key(self, key: Any) -> None:
        """Begin a key whose records are passed in parts."""
        super().start_key(key)
        self._comes_in_batches = True
        if self._fires_at_end:
            self._contents_so_far = growing_contents(self._fold, self._window, self.spilled_values)
        else:
            self._fires_between = self._window.ends_behind_records

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Add the records of one key."""
        if self._contents_so_far is not None:
            self._add_batch(self._contents_so_far, values)
            return
        if self._fires_at_end:
            self._held += values
            return
        final = self._final_watermark
        if self._complete and final is not None and timestamps and not self._comes_in_batches:
            taken = self._complete.hold(values, timestamps, final)
            if taken == len(values):
                return
            values, timestamps = values[taken:], timestamps[taken:]
        self._space.group = self.keys.group
        self._engine.process(values, timestamps or list(repeat(MIN_TIMESTAMP, len(values))))
        self._send_late()
        if self._fires_between and timestamps:
            self._fire_complete(timestamps[-1])

    def end_key(self, watermark: int) -> None:
        """Fire the windows of a key whose records are complete (batch run)."""
        self._fires_between = False
        self._timers.watermark = watermark
        if self._contents_so_far is not None:
            self._fire_growing(self._contents_so_far)
        elif self._fires_at_end:
            self._fire_at_once()
        else:
            if self._complete is not None and not self._comes_in_batches:
                self._fire_whole(self._complete)
            # All due timers belong to this key: earlier keys have fired theirs.
            self._timers.fire_all_keys(watermark, self._on_event_time)
            until = self._timers.processing_time_in_batch(is_last_run=self._is_last_run)
            self._timers.fire_processing_time(until, self._on_processing_time)
        self._timers.watermark = MIN_TIMESTAMP
        self._comes_in_batches = False

    def on_watermark(self, watermark: int) -> None:
        """Fire the due windows of all keys (live run)."""
        if self._final_watermark is not None:
            return  # a batch run has fired them key by key
        self._timers.watermark = watermark
        self._timers.fire_all_keys(watermark, self._on_event_time)

    def on_processing_time(self, now_ms: int) -> None:
        """Fire the windows of all keys whose processing time is due (live run)."""
        self._timers.fire_processing_time(now_ms, self._on_processing_time)
        self.flush()

    def next_processing_time(self) -> int | None:
        """Return the time of the earliest processing-time timer, None if there is none."""
        return self._timers.next_processing_time()

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to that before a restart; no window fires."""
        self._timers.watermark = watermark
        super().restore_watermark(watermark)

    @property
    def _fires_at_end(self) -> bool:
        """True if the windows fire at the end of the input, and the run reaches it."""
        final, window = self._final_watermark, self._window.end_of_stream
        if final is None or window is None or Place.RECEIVER_GROUP not in self.folding.places:
            return False
        return final >= window.max_timestamp()

    def _fire_complete(self, time: int) -> None:
        """Fire the windows of a key that end at `time`, the last record's, or before.

        A session that would end there does not fire: the record has extended it.
        """
        final = self._final_watermark
        assert final is not None, "keys come in parts in a batch run only"
        self._timers.watermark = final
        self._timers.fire_all_keys(min(final, time - 1), self._on_event_time)
        self._timers.watermark = MIN_TIMESTAMP

    def _fire_whole(self, complete: CompleteWindows) -> None:
        try:
            complete.fire()
        except BaseException as cause:
            where = f"timer {complete.time} of key {short(self.keys.key)}"
            raise self.failed_in(where, cause) from cause

    def _send_whole(self, results: list[Any], times: list[int]) -> None:
        self.emit(self.emission.of_batch(results), times)

    def _fire_at_once(self) -> None:
        values, self._held = self._held, []
        if values:
            self._fire_with(lambda: seen_of(self._fold, self._window, values))

    def _give_last(self, entries: dict[Any, Any]) -> None:
        """Emit one result per key, of windows that fire at the end of the input."""
        window, fold = self._window.end_of_stream, self._fold
        assert window is not None, "other windows are folded by key and pane"
        assert fold is not None, "what keeps all records has no table"
        if self._window.evaluation is not Evaluation.NONE:
            for self.keys.key, kept in entries.items():
                self.keys.group = self._group_of(self.keys.key)
                self._fire_with(partial(_only, fold, kept))
            return
        results: list[Any] = []
        try:
            for key, kept in entries.items():  # noqa: B007 - named in the error
                results.append(result_of(fold, kept))
        except BaseException as cause:
            raise self.failed_in(f"window {window!r} of key {short(key)}", cause) from cause
        for start in range(0, len(results), FLUSH_RECORDS):
            some = self.emission.of_batch(results[start : start + FLUSH_RECORDS])
            self._send(some, window.max_timestamp())

    def _add_batch(self, contents: GrowingContents, values: list[Any]) -> None:
        position = iter(values)
        try:
            contents.extend(position)
        except BaseException as cause:
            raise self._failed(cause, values, position) from cause

    def _fire_growing(self, contents: GrowingContents) -> None:
        self._fire_with(contents.elements)
        contents.close()
        self._contents_so_far = None

    def _fire_with(self, elements: Callable[[], Any]) -> None:
        window = self._window.end_of_stream
        assert window is not None
        self._space.group, self._space.key = self.keys.group, (self.keys.key, None)
        with_user = self._guarded(f"window {window!r}")
        with_user(lambda: self._host.fire(window, elements()))
        with_user(lambda: self._host.call.clear(window))

    def _on_event_time(self, time: int) -> None:
        self._on_timer(time, self._engine.on_event_time)

    def _on_processing_time(self, time: int) -> None:
        self._on_timer(time, self._engine.on_processing_time)

    def _on_timer(self, time: int, react: Callable[[Any, int], None]) -> None:
        self.keys.key, form = self._space.key
        self.keys.group = self._space.group
        self._guarded(f"timer {time}")(lambda: react(form, time))

    def _guarded(self, where: str) -> Callable[[Callable[[], None]], None]:
        """Return a function that calls user code; its error names `where`."""

        def run(call: Callable[[], None]) -> None:
            try:
                call()
            except BaseException as cause:
                raise self.failed_in(f"{where} of key {short(self.keys.key)}", cause) from cause

        return run

    def _send(self, results: list[Any], timestamp: int) -> None:
        self.emit(results, [timestamp] * len(results))

    def _send_late(self) -> None:
        late, self._host.late = self._host.late, []
        tag = self._window.late_tag
        if late and tag is None:
            self.late_records += len(late)
        elif late and tag is not None:
            stamps, values = zip(*late, strict=True)
            send_sides(self._sides, {tag: (list(values), list(stamps))})

    def _failed(
        self, cause: BaseException, values: list[Any], position: Iterator[Any]
    ) -> PenstockError:
        return self.failed(cause, values, position, key=self.keys.key)

    def _functions(self) -> list[Any]:
        """Return the user's function objects, each once."""
        candidates = [self._window.fold_function, self._window.function]
        return [function for function in candidates if function is not None]

    def _call_functions(
        self, what: str, method: Callable[..., None] | None, *arguments: Any
    ) -> None:
        if method is not None:
            self.guarded(what, method, *arguments)

    def _shares(self, panes: RegularWindows) -> bool:
        """Return whether windows can share panes: whether accumulators can be merged.

        The plan has tried functions without `open`; the others are tried here.
        """
        function, fold = self._window.fold_function, fold_of_window(self._window)
        if panes.is_tumbling or fold is None or not has_life_cycle(function):
            return True
        return merges(fold)


def _only(fold: Fold, kept: Any) -> list[Any]:
    return [result_of(fold, kept)]
