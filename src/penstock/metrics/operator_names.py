"""Names of the metrics that every operator has, behind its uid and a dot."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.metrics.values import CounterValue, MetricValue

RECORDS_IN = "numRecordsIn"
RECORDS_OUT = "numRecordsOut"
WATERMARK = "currentInputWatermark"
LATE_RECORDS = "numLateRecordsDropped"

COMBINED_IN = "combine.numRecordsIn"
COMBINED_OUT = "combine.numRecordsOut"
"""Records that were combined before they were sent, and what was sent for them."""


def late_records(metrics: Mapping[str, MetricValue]) -> dict[str, int]:
    """Return uid to the late records that an operator dropped, of those that dropped some.

    Examples:
        >>> late_records({"totals.numLateRecordsDropped": CounterValue(3)})
        {'totals': 3}
    """
    end = f".{LATE_RECORDS}"
    return {
        name.removesuffix(end): value.count
        for name, value in metrics.items()
        if name.endswith(end) and isinstance(value, CounterValue) and value.count
    }
