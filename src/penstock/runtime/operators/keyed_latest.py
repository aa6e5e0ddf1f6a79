"""The last record of each key: of a key group in a batch run, of a micro-batch in a live run.

It has no state. A batch run folds the records of a key as reduce does, at the places that the plan chooses. In a live
run the records of a micro-batch are passed on when it ends, not where a watermark takes effect in it:
a sink that merges by key must not get a key twice at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.program.folding.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.keyed_fold import KeyedFoldOperator


class KeyedLatestOperator(KeyedFoldOperator):
    """Emits the last record of each key."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._fold = Fold(None, self.call, self.call, None, spec.result_type)
        self._latest: dict[Any, Any] = {}

    def fold(self) -> Fold:
        """Return the fold."""
        return self._fold

    def give(self, entries: Entries) -> None:
        """Emit one record per key."""
        (of_key,) = entries.values()
        self._emit_all(of_key.values())

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Remember the last record of a key."""
        self._latest[key] = values[-1]

    def end_key(self, watermark: int) -> None:
        """Emit the last record of a key in a batch run."""
        self._emit_all(self._latest.values())
        self._latest.clear()

    def end_epoch(self) -> None:
        """Emit the last record of each key of a micro-batch."""
        self._emit_all(self._latest.values())
        self._latest.clear()
        self.flush()

    def _emit_all(self, values: Iterable[Any]) -> None:
        results = list(values)
        for at in range(0, len(results), FLUSH_RECORDS):
            self.emit(results[at : at + FLUSH_RECORDS], None)
