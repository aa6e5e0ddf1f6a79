"""The output of the user's own operators: records, watermarks and record attributes, in order."""

from __future__ import annotations

from typing import Any

from penstock.errors import CallSite, TypeMismatchError
from penstock.program.record_attributes import RecordAttributes
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.side_outputs import sides_of
from penstock.runtime.functions.process_context import ProcessContext
from penstock.runtime.time.timeless import check_watermark
from penstock.types.output_tag import OutputTag
from penstock.types.values.copying import Copier
from penstock.wire.elements import MIN_TIMESTAMP

_FLUSH_RECORDS = 4096


class OperatorOutput:
    """Implements `StreamOperatorOutput` of the API for one operator of one subtask.

    While `holds` is true, watermarks and attributes are stored instead of forwarded: in a batch run
    they take effect only after all key groups of the task.

    Attributes:
        watermark: The greatest emitted watermark; Long.MIN for none.
        backlog: The backlog of the last emitted attributes; None for none.
        holds: Whether watermarks and attributes are stored.
        copy: Copies an emitted value for its readers; None if they get the value itself.
        timeless: Name of the operator in a job without time, where it must not emit watermarks.
    """

    def __init__(self, output: Output, context: ProcessContext, origin: CallSite | None) -> None:
        self._output = output
        self._sides = sides_of(output)
        self._context = context
        self._origin = origin
        self._values: list[Any] = []
        self._stamps: list[int] = []
        self._has_stamps = False
        self.watermark = MIN_TIMESTAMP
        self.backlog: bool | None = None
        self.holds = False
        self.copy: Copier | None = None
        self.timeless: str | None = None

    def collect(self, value: Any, timestamp: int | None = None) -> None:
        """Emit a record; its timestamp is that of the record or timer being processed."""
        stamp = self._context.current_timestamp if timestamp is None else timestamp
        if self._values and (stamp is not None) is not self._has_stamps:
            self.flush()
        self._values.append(value if self.copy is None else self.copy(value))
        self._has_stamps = stamp is not None
        if stamp is not None:
            self._stamps.append(stamp)
        if len(self._values) >= _FLUSH_RECORDS:
            self.flush()

    def collect_to(self, output_tag: OutputTag, value: Any, timestamp: int | None = None) -> None:
        """Emit a record to a side output."""
        side = self._sides.get(output_tag.tag_id)
        if side is not None:
            stamp = self._context.current_timestamp if timestamp is None else timestamp
            own = value if self.copy is None else self.copy(value)
            side.collect([own], None if stamp is None else [stamp])

    def emit_watermark(self, watermark: int) -> None:
        """Emit a watermark; one that is not greater than the last is dropped.

        Raises:
            TypeMismatchError: It is no int.
        """
        if type(watermark) is not int:
            raise TypeMismatchError(
                f"the watermark {watermark!r} was emitted",
                hint="Pass epoch milliseconds as an int.",
                origin=self._origin,
            )
        if self.timeless is not None:
            check_watermark(watermark, self.timeless, self._origin)
        self.flush()
        self.watermark = max(self.watermark, watermark)
        if not self.holds:
            self._output.advance_watermark(self.watermark)

    def emit_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """Emit attributes. They are forwarded only if they differ from the last ones.

        Raises:
            TypeMismatchError: The argument is no `RecordAttributes`.
        """
        if not isinstance(record_attributes, RecordAttributes):
            raise TypeMismatchError(
                f"{record_attributes!r} was emitted as record attributes",
                hint="Build them with RecordAttributesBuilder.",
                origin=self._origin,
            )
        self.flush()
        self.backlog = record_attributes.backlog
        if not self.holds:
            self._output.set_backlog(self.backlog)

    def flush(self) -> None:
        """Forward the buffered records."""
        if not self._values:
            return
        values, stamps = self._values, self._stamps if self._has_stamps else None
        self._values, self._stamps = [], []
        self._output.collect(values, stamps)
