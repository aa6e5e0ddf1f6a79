"""The base class of operators that fold the records of a key, with the fold table of a key group.

`OperatorSpec.folding` has the places of the fold. Without RECEIVER_GROUP and RECEIVER_FRAME there is no
table: the operator gets records key by key and folds them into its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.program.fold import Fold, Place
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.fold.fold_table import Entries, FoldTable
from penstock.runtime.fold.loops import failing_key
from penstock.runtime.fold.sender_fold import batches_of
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import Folded, KeyedOperator, in_order_of_time
from penstock.wire.row_columns import ColumnRecords

_IN_MEMORY = frozenset({Place.RECEIVER_GROUP, Place.RECEIVER_FRAME})


class KeyedFoldOperator(KeyedOperator):
    """Base of operators that fold."""

    takes_keys_in_parts = True

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        assert spec.folding is not None, "the plan decides where an operator folds"
        self.folding = spec.folding
        self.table: FoldTable | None = None

    def use_batch_order(self, final_watermark: int, *, is_last_run: bool) -> None:
        """Process keys in batch order, with a table if the plan folds records in it."""
        super().use_batch_order(final_watermark, is_last_run=is_last_run)
        fold = self.fold()
        if fold is not None and self.folding.places & _IN_MEMORY:
            assert self.spill_space is not None, "a batch run has one"
            self.table = FoldTable(fold, self.spill_space.memory_bytes)

    def fold(self) -> Fold | None:
        """Return the fold of the input; None if all records are stored."""
        raise AssertionError(type(self).__name__)

    @property
    def is_foldable(self) -> bool:
        """True if the input may be folded in the table, given the final watermark."""
        return self.table is not None

    @property
    def folds_frames(self) -> bool:
        """True if the records of a key group are folded frame by frame."""
        return self.is_foldable and Place.RECEIVER_FRAME in self.folding.places

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Fold a batch into the table, or key by key into state."""
        if isinstance(values, ColumnRecords):
            values = values.rows()
        if self.table is None or not values or not self.is_foldable:
            super().process(values, timestamps)
            return
        keys, values = self._keyed(values)
        if timestamps is not None and not self.folding.ignores_order:
            keys, values, timestamps = in_order_of_time(keys, values, timestamps)
        position = iter(values)
        try:
            self.table.add(keys, position, self.panes_of(keys, position, timestamps))
        except BaseException as cause:
            key = failing_key(keys, values, position)
            raise self.failed(cause, values, position, key=key) from cause

    def panes_of(
        self, keys: list[Any], values: Iterator[Any], timestamps: list[int] | None
    ) -> list[int] | None:
        """Return the begin of the pane that each record belongs to; None if there are no panes.

        It is called once per batch, before the batch is folded.
        """
        return None

    def take_folded(self) -> Folded | None:
        """Return and remove the accumulators of a key group if memory is used up."""
        if self.table is None or not self.table.is_full:
            return None
        records = self.table.records
        return next(batches_of(self.table.take(), records))

    def end_group(self) -> None:
        """Emit the results of a key group if its records were folded in the table."""
        if self.table is not None and self.table.records:
            self.give(self.table.take())
            self.flush()

    def give(self, entries: Entries) -> None:
        """Emit the results of a key group, and write the state that a later run needs."""
        raise AssertionError(type(self).__name__)
