"""The metrics of every operator, other than those of its function.

numRecordsIn            records received
numRecordsOut           records emitted, those of side outputs not counted
currentInputWatermark   in epoch milliseconds; not shown before the first
numLateRecordsDropped   of operators that drop late records
numFilesSpilled, numBytesSpilled, spillDepth
                        of operators whose records did not fit in memory (batch run)
"""

from __future__ import annotations

from typing import Any

from penstock.errors import TypeMismatchError
from penstock.metrics.operator_names import LATE_RECORDS, RECORDS_IN, RECORDS_OUT, WATERMARK
from penstock.metrics.values import CounterValue, GaugeValue, MetricValue
from penstock.runtime.flow.output import Output
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.expressions import WriteColumns
from penstock.wire.elements import MIN_TIMESTAMP

_READINGS = (int, float, str, bool)


class CountingOutput:
    """Counts emitted records.

    Attributes:
        count: Records emitted since it was set to 0.
    """

    __slots__ = (
        "_output",
        "advance_watermark",
        "count",
        "restore_watermark",
        "separate",
        "set_backlog",
        "set_idle",
    )

    def __init__(self, output: Output) -> None:
        self._output = output
        self.count = 0
        self.advance_watermark = output.advance_watermark
        self.restore_watermark = output.restore_watermark
        self.set_idle = output.set_idle
        self.separate = output.separate
        self.set_backlog = output.set_backlog

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Count a batch and forward it."""
        self.count += len(values)
        self._output.collect(values, timestamps)

    def counting(self, write: WriteColumns) -> WriteColumns:
        """Return a function that counts a batch of columns and forwards it to `write`."""

        def counted(batch: Any, timestamps: list[int] | None) -> None:
            self.count += batch.num_rows
            write(batch, timestamps)

        return counted


class OperatorMetrics:
    """The metrics of one operator of one subtask."""

    def __init__(self, operator: Operator, output: CountingOutput) -> None:
        self._operator = operator
        self._output = output
        self._late_reported = 0
        self._metrics = operator.context.metrics

    def take(self) -> dict[str, MetricValue]:
        """Return the changes since the last call, by full name.

        It does not reset the count of received records: `OperatorChain.take_counts` does so later.

        Raises:
            PenstockError: The function of a gauge failed, or returned a value of another type.
        """
        operator, uid = self._operator, self._operator.spec.uid
        taken: dict[str, MetricValue] = {
            f"{uid}.{RECORDS_IN}": CounterValue(operator.records_in),
            f"{uid}.{RECORDS_OUT}": CounterValue(self._output.count),
        }
        self._output.count = 0
        if operator.watermark != MIN_TIMESTAMP:
            taken[f"{uid}.{WATERMARK}"] = GaugeValue(operator.watermark)
        late = operator.late_records
        if late is not None:
            taken[f"{uid}.{LATE_RECORDS}"] = CounterValue(late - self._late_reported)
            self._late_reported = late
        taken |= operator.spilled.take(uid)
        try:
            taken |= self._metrics.take()
        except BaseException as cause:
            raise operator.failed_in("a gauge", cause) from cause
        for name, value in taken.items():
            if isinstance(value, GaugeValue) and not isinstance(value.value, _READINGS):
                raise TypeMismatchError(
                    f"the gauge {name!r} showed {value.value!r} of type "
                    f"{type(value.value).__name__}",
                    hint="Return a number, a string or a bool from its function, or None.",
                    origin=operator.spec.origin,
                )
        return taken
