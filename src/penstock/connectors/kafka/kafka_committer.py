"""The committer of a Kafka sink with exactly-once delivery.

`epoch.json` in the job's directory has the number of the newest epoch that had records; Kafka's mark has that of the newest
one that is visible. So they are equal, or the mark is one behind: then the epoch was decided, and nothing of
it is visible. Anything else means that the mark was lost or is of somebody else.

An epoch without records has no number. Kafka forgets the offsets of a group that commits none for
`offsets.retention.minutes` (7 days), so its mark is written again after an hour at most, if the job has epochs then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from penstock.connectors.epoch_file import EpochFile
from penstock.connectors.kafka.client import kafka_errors
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.kafka.staged_records import directory_of, staging_of
from penstock.connectors.kafka.transactions import EpochTransactions, Mark
from penstock.connectors.staged import Staged, StagingDirectory
from penstock.errors import SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import Committer, SinkContext

_REMARK_SECONDS = 3_600.0


class KafkaCommitter(Committer):
    """Makes staged records visible, each epoch in one transaction."""

    def __init__(
        self, properties: KafkaProperties, prefix: str, topic: str | None, context: SinkContext
    ) -> None:
        """Begin without a connection."""
        self._context = context
        self._file = EpochFile(directory_of(context), context)
        self._staging = StagingDirectory(staging_of(context), "records", context)
        self._properties = properties
        self._name = f"{prefix}-{context.job_id}-{context.sink_id}"
        self._topic = topic
        self._transactions = EpochTransactions(properties, self._name, context.origin)
        self._decided: Mark | None = None
        self._visible: Mark | None = None
        self._marked_seconds = 0.0

    def recover(self) -> None:
        """Fence earlier drivers, end what they left open, and drop staged records.

        Raises:
            SinkError: The brokers do not answer, the directory cannot be written, or the mark is gone.
        """
        self._staging.prepare()
        with self._errors("begin transactions"):
            self._compare()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the records of an epoch visible, unless they are.

        Raises:
            SinkError: The brokers do not answer or refuse them, a staged file is lost, or the mark is gone.
            JobFencedError: Another driver has taken over.
        """
        staged: list[Staged] = list(committables)
        with self._errors(f"commit epoch {epoch}"):
            self._compare()
            if self._visible is None or self._visible.epoch != epoch:
                self._commit(epoch, staged)
        self._staging.remove(staged)

    def close(self) -> None:
        """Close the clients."""
        self._transactions.close()

    def _commit(self, epoch: str, staged: list[Staged]) -> None:
        if not staged and (self._decided is None or self._decided.epoch != epoch):
            self._mark_again()
            return
        topic = self._topic or self._first_topic(staged)
        visible = 0 if self._visible is None else self._visible.number
        decided = Mark(visible + 1, epoch)
        if decided != self._decided:
            self._file.record(number=decided.number, epoch=epoch, topic=topic)
            self._decided, self._topic = decided, topic
            failpoint("kafka.decided")
        self._write(decided, staged)

    def _write(self, mark: Mark, staged: list[Staged]) -> None:
        assert self._topic is not None, "there are records"

        self._context.may_commit()
        chunks = partial(self._staging.chunks, staged)
        self._transactions.commit(mark, self._topic, chunks, self._context.may_commit)
        self._visible, self._marked_seconds = mark, time.monotonic()

    def _mark_again(self) -> None:
        """Keep Kafka from forgetting the mark."""
        if self._visible is not None and self._marked_seconds + _REMARK_SECONDS < time.monotonic():
            self._write(self._visible, [])

    def _compare(self) -> None:
        """Learn what is visible, unless this driver knows.

        Raises:
            SinkError: That cannot be.
        """
        if self._transactions.is_open:
            return
        self._context.may_commit()
        self._transactions.open(self._topic)
        self._decided = self._recorded()
        self._visible = None if self._topic is None else self._transactions.last(self._topic)
        decided = 0 if self._decided is None else self._decided.number
        visible = 0 if self._visible is None else self._visible.number
        if visible not in {decided, max(decided - 1, 0)}:
            raise self._lost(decided, visible)
        self._marked_seconds = time.monotonic()

    def _recorded(self) -> Mark | None:
        """Return the newest epoch that had records, None if there was none."""
        recorded = self._file.read()
        if recorded is None:
            return None
        self._topic = recorded["topic"]
        return Mark(recorded["number"], recorded["epoch"])

    def _first_topic(self, staged: list[Staged]) -> str:
        first: str = next(self._staging.chunks(staged))[0][0]
        return first

    def _lost(self, decided: int, visible: int) -> SinkError:
        found = f"says {visible}" if visible else "has none"
        return SinkError(
            f"{self._file.path} says that the sink is at its epoch number {decided}, and the group {self._name!r} "
            f"in Kafka {found}",
            hint="Kafka has lost the offset (offsets.retention.minutes), the servers are others, or the job's "
            "directory is an older copy. Find out which epochs are in the topic, then start from a savepoint in "
            "a new checkpoint directory.",
            origin=self._context.origin,
        )

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        described = f"{doing} of sink {self._context.name!r}"
        return kafka_errors(SinkError, self._properties, described, self._context.origin)
