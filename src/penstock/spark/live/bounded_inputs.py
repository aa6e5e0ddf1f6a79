"""Detects the end of bounded sources of a live run and sends it to every subtask.

A split source has ended when the offset of the positions stream has reached the end of every split;
the stream sends the end itself, unless it had nothing to read. A bounded file source has ended when
a progress report has no new files, because its files existed before the query started. Then `end`
(or `handover`, if the run hands over its state) is added to the control log. The run is complete when
the query has committed the micro-batch that delivered it.
"""

from __future__ import annotations

import json
from typing import Any

from penstock.plan.physical import PhysicalPlan, Reading, RunPlan
from penstock.spark.job.run_outline import RunOutline
from penstock.spark.sources.positions import ControlLog
from penstock.spark.sources.read_context import Splits
from penstock.spark.sources.source_row import Progress
from penstock.spark.sources.table import row_of


class BoundedInputs:
    """Detects the ends of one live run's sources."""

    def __init__(
        self,
        plan: PhysicalPlan,
        run: RunPlan,
        splits: dict[tuple[int, int], Splits],
        control: ControlLog,
        outline: RunOutline,
    ) -> None:
        self._plan = plan
        self._run = run
        self._splits = splits
        self._control = control
        self._streams = {source.id: source.log for source in outline.sources}

    def complete(self, progress: Any) -> bool:
        """Return whether all input of the run is processed and committed."""
        offsets = progress.sources
        positions = json.loads(offsets[0].endOffset) if offsets[0].endOffset else None
        if positions is None:
            return False
        read = [r for r in self._run.readings if self._is_read(r, positions, offsets)]
        for reading in read:
            if reading.ends and not self._tells_itself(reading):
                self._control.append("end", reading.source)
        if len(read) < len(self._run.readings):
            return False
        if self._run.hands_over:
            self._control.append("handover")
        delivered: bool = positions["control"] == self._control.count()
        return delivered and (self._run.hands_over or all(r.ends for r in self._run.readings))

    def _tells_itself(self, reading: Reading) -> bool:
        """Return whether the positions stream sends the end of a source with its last records."""
        splits = self._splits.get((reading.source, reading.parts[0]), ())
        return any(start != end for start, end in splits)

    def _is_read(self, reading: Reading, positions: dict[str, Any], offsets: Any) -> bool:
        part = self._plan.source(reading.source).parts[reading.parts[0]]
        if not part.is_bounded:
            return False
        splits = self._splits.get((reading.source, reading.parts[0]), [])
        stream = offsets[self._streams[reading.source]]
        return row_of(part).is_complete(Progress(reading.source, splits, positions, stream))
