"""The file in the job's directory that says which epoch of a sink was decided last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.connectors.os_errors import sink_errors
from penstock.errors import DecodeError, SinkError
from penstock.graph.endpoints import SinkContext
from penstock.wire.atomic_file import read_verified, write_verified


class EpochFile:
    """`epoch.json` of one sink.

    Attributes:
        path: Where it is.
    """

    def __init__(self, directory: Path, context: SinkContext) -> None:
        """Name the file."""
        self.path = directory / "epoch.json"
        self._context = context

    def read(self) -> dict[str, Any] | None:
        """Return what was recorded last, None if nothing was.

        Raises:
            SinkError: The file is damaged, or cannot be read.
        """
        with sink_errors(self.path.parent, "read the last epoch", self._context.origin):
            try:
                return read_verified(self.path)
            except FileNotFoundError:
                return None
            except DecodeError as cause:
                raise SinkError(
                    f"the record of the last epoch cannot be read: {cause.problem}",
                    hint="Restore the file from a copy. Without it nobody knows which epochs are visible.",
                    origin=self._context.origin,
                ) from cause

    def record(self, *, number: int, epoch: str, **further: Any) -> None:
        """Record an epoch that is decided now.

        Raises:
            SinkError: The directory cannot be written.
            JobFencedError: Another driver has taken over.
        """
        payload = {"number": number, "epoch": epoch, **further}
        with sink_errors(self.path.parent, f"record epoch {epoch}", self._context.origin):
            write_verified(self.path, payload, may_replace=self._context.may_commit)
