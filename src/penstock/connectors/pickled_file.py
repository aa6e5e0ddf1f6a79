"""Pickled values that a task stages: what the writers of spools, of caches and of Kafka have in common."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

from penstock.connectors.staged_bytes import StagedBytesWriter
from penstock.errors import PenstockError, SinkError
from penstock.types.record_form import RecordForm
from penstock.user_failure import raise_interrupt, words_of


class PickledFileWriter(StagedBytesWriter):
    """Pickles lists of values, one after the other."""

    refusal: ClassVar[str]
    """The refused thing, with the name of the sink."""

    _record_count = 0
    _form: RecordForm | None = None
    """The form of the values; None pickles them as they are."""

    def _append_values(self, values: list[Any]) -> int:
        """Stage a list of values; return where it begins."""
        data = self._pickled(values)
        begin = self._append(self._head_of(data), data)
        self._record_count += len(values)
        return begin

    def _head_of(self, data: bytes) -> bytes:
        """Return what is written before a pickle."""
        return b""

    def _pickled(self, values: list[Any]) -> bytes:
        try:
            return pickle.dumps(self._form.pack(values) if self._form else values, 5)
        except BaseException as cause:  # whatever a user's __reduce__ raises
            raise_interrupt(cause)
            if isinstance(cause, PenstockError):  # a serializer of the program
                raise
            raise SinkError(
                f"{self.refusal.format(self._context.name)}: {words_of(cause)}",
                hint="Map them to values that can be pickled first.",
                origin=self._context.origin,
            ) from cause
