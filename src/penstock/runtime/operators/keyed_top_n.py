"""The first rows of each key: every change of them, or the last ones of a batch run."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.keyed_process import KeyedProcessOperator


class KeyedTopNOperator(KeyedProcessOperator):
    """Calls the function of `top_n`, and emits the changes or the last rows of a key."""

    _last_stamp: int | None = None

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Emit the changes that rows of a key make, unless only the last rows are wanted."""
        if not self.context.settings.final_results_only:
            super().process_key(key, values, timestamps)
            return
        position = iter(values)
        try:
            for value in position:
                for _ in self.call(value, self._context):
                    pass  # a change that a later row may cancel
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause
        self._last_stamp = None if timestamps is None else timestamps[-1]

    def end_key(self, watermark: int) -> None:
        """Emit the last rows of a key in a batch run with final results only."""
        if self.context.settings.final_results_only:
            rows = self.spec.function.first_rows()
            stamp = self._last_stamp
            self.emit(rows, None if stamp is None else [stamp] * len(rows))
        super().end_key(watermark)
