"""The committer of a Kafka sink with exactly-once delivery, and its transactions: each has the records of an epoch."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from penstock.connectors.epoch_marks import EpochFile, EpochMark, own_directory
from penstock.connectors.kafka.client import (
    GROUP,
    KafkaProperties,
    error_code,
    is_refusal,
    is_transient,
    kafka_errors,
    library,
    patiently,
)
from penstock.connectors.kafka.producers import (
    give,
    limit_of,
    new_producer,
    staging_of,
)
from penstock.connectors.kafka.readers import new_consumer
from penstock.connectors.kafka.record_serialization import OutgoingRecord
from penstock.connectors.staged import Staged, StagingDirectory
from penstock.errors import CallSite, JobFencedError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import Committer, SinkContext

_TIMEOUT_MS = "transaction.timeout.ms"
_DEFAULT_TIMEOUT_MS = 120_000
_REQUEST_SECONDS = 15.0
_ABORT_SECONDS = 2.0
_FLUSH_SECONDS = 0.5
_STUCK_SECONDS = 5.0
_PAUSE_SECONDS = 0.25
_MOST_BATCH_BYTES = 1_000_000
"""The library's own; a topic with a lower limit refuses larger batches of small records, too."""

_FENCED = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})

Chunks = Callable[[], Iterator[list[OutgoingRecord]]]


class EpochTransactions:
    """The transactions of one sink."""

    def __init__(
        self, properties: KafkaProperties, name: str, origin: CallSite | None = None
    ) -> None:
        """Begin without a connection."""
        self._properties = properties
        self._name = name
        self._origin = origin
        self._request_seconds = min(_REQUEST_SECONDS, properties.patience_seconds)
        self._timeout_ms = properties.milliseconds(_TIMEOUT_MS, _DEFAULT_TIMEOUT_MS)
        self._producer: Any = None
        self._consumer: Any = None
        self._is_lost = False

    @property
    def is_open(self) -> bool:
        """True if earlier drivers are fenced, and no later one is known."""
        return self._producer is not None

    def open(self, topic: str | None = None) -> None:
        """Fence earlier drivers, and end what they left open."""
        if self._producer is None:
            self._is_lost = False
            fixed = {
                "transactional.id": self._name,
                _TIMEOUT_MS: self._timeout_ms,
                "error_cb": self._note_error,
            }
            if topic is not None:
                fixed["batch.size"] = min(limit_of(self._properties, topic), _MOST_BATCH_BYTES)
            producer = new_producer(self._properties, "commit", fixed)
            patiently(
                lambda: producer.init_transactions(self._request_seconds),
                self._properties.patience_seconds,
            )
            self._producer = producer

    def last(self, topic: str) -> EpochMark | None:
        """Return the last epoch that is visible, None if there is none."""
        self.open(topic)
        place = library().TopicPartition(topic, 0)
        (answer,) = patiently(
            lambda: self._group().committed([place], timeout=self._request_seconds),
            self._properties.patience_seconds,
        )
        if answer.error is not None:
            raise library().KafkaException(answer.error)
        return EpochMark(answer.offset, answer.metadata or "") if answer.offset >= 0 else None

    def commit(
        self, mark: EpochMark, topic: str, chunks: Chunks, may_commit: Callable[[], None]
    ) -> None:
        """Make records visible, and the mark with them.

        After an error, the next call of `last` finds out if the records are visible.
        """
        until = time.monotonic() + self._properties.patience_seconds
        is_known = self._is_connected()
        while True:
            try:
                if not is_known and self._is_visible(mark, topic, may_commit):
                    return
                self._transaction(mark, topic, chunks(), may_commit)
            except library().KafkaException as cause:
                error = self._reason(cause.args[0])
                self._drop()
                if is_refusal(error):
                    raise library().KafkaException(error) from None
                if error.name() in _FENCED:
                    raise self._fenced() from None
                may_pass = is_transient(error) or error.txn_requires_abort()
                if not may_pass or time.monotonic() >= until:
                    raise
            except BaseException:
                self._drop()
                raise
            else:
                return
            is_known = False
            time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Close the clients."""
        self._drop()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _is_connected(self) -> bool:
        """Return whether the producer is the one that has fenced the others, and still has its brokers.

        One that lost them is given up before anything is open, because its calls may not return; see `_within_time`.
        """
        if self._producer is not None:
            self._producer.poll(0)
            if self._is_lost:
                self._drop()
        return self._producer is not None

    def _is_visible(self, mark: EpochMark, topic: str, may_commit: Callable[[], None]) -> bool:
        """Return whether an epoch is visible, with a new producer."""
        may_commit()
        last = self.last(topic)
        if last == mark:
            return True
        if (0 if last is None else last.number) != mark.number - 1:
            raise self._fenced()
        return False

    def _note_error(self, error: Any) -> None:
        """Take note that brokers are away; the library calls it."""
        del error
        self._is_lost = True

    def _reason(self, error: Any) -> Any:
        """Return why a transaction is over. Calls after the first refusal report no reason; aborting it reports one.

        A callback of deliveries gets the reason, but the library may call it while an exception propagates.
        """
        if error.name() != "_STATE" or self._producer is None:
            return error
        try:
            self._producer.commit_transaction(_ABORT_SECONDS)
        except library().KafkaException as cause:
            return cause.args[0]
        return error

    def _transaction(
        self,
        mark: EpochMark,
        topic: str,
        chunks: Iterable[list[OutgoingRecord]],
        may_commit: Callable[[], None],
    ) -> None:
        producer = self._producer
        producer.begin_transaction()
        for chunk in chunks:
            give(producer, chunk, may_commit)
        while producer.flush(_FLUSH_SECONDS):  # `commit_transaction` would wait without looking up
            may_commit()
        failpoint("kafka.produced")
        place = library().TopicPartition(topic, 0, mark.number, mark.epoch)
        group = self._group().consumer_group_metadata()
        _within_time(
            partial(producer.send_offsets_to_transaction, [place], group, self._request_seconds)
        )
        failpoint("kafka.marked")
        may_commit()
        _within_time(partial(producer.commit_transaction, self._request_seconds))
        failpoint("kafka.committed")

    def _group(self) -> Any:
        """Return the consumer of the group, which reads no records."""
        if self._consumer is None:
            properties = self._properties.with_property(GROUP, self._name)
            # Else an offset of a transaction that is still open would be passed over.
            committed = properties.with_property("isolation.level", "read_committed")
            self._consumer = new_consumer(committed, "mark")
        return self._consumer

    def _drop(self) -> None:
        """Abort what is open, if that is possible, and forget the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(library().KafkaException):
                producer.purge()
                producer.abort_transaction(_ABORT_SECONDS)

    def _fenced(self) -> JobFencedError:
        return JobFencedError(
            f"another driver writes with the transactional id {self._name!r}",
            hint="Let that one run. If this is another job, set_transactional_id_prefix gives it an id of "
            "its own.",
            origin=self._origin,
        )


def _within_time(call: Callable[[], object]) -> None:
    """Make a call of the library, and give it up if it does not return.

    After the coordinator of a group was away, `send_offsets_to_transaction` may wait for ever, whatever its time-out
    (seen with librdkafka 2.16). The thread and its producer are left behind then; the next producer fences them.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as cause:  # noqa: BLE001 - it is raised where it was called for
            raised.append(cause)

    thread = threading.Thread(target=run, name="penstock-kafka", daemon=True)
    thread.start()
    thread.join(_STUCK_SECONDS)
    if thread.is_alive():
        kafka = library()
        raise kafka.KafkaException(kafka.KafkaError(error_code("_TIMED_OUT"), "no answer"))
    if raised:
        raise raised[0]


_REMARK_SECONDS = 3_600.0


class KafkaCommitter(Committer):
    """Makes staged records visible, each epoch in one transaction."""

    def __init__(
        self, properties: KafkaProperties, prefix: str, topic: str | None, context: SinkContext
    ) -> None:
        """Begin without a connection."""
        self._context = context
        self._file = EpochFile(own_directory("kafka", context), context)
        self._staging = StagingDirectory(staging_of(context), "records", context)
        self._properties = properties
        self._name = f"{prefix}-{context.job_id}-{context.sink_id}"
        self._topic = topic
        self._transactions = EpochTransactions(properties, self._name, context.origin)
        self._decided: EpochMark | None = None
        self._visible: EpochMark | None = None
        self._marked_seconds = 0.0

    def recover(self) -> None:
        """Fence earlier drivers, end what they left open, and drop staged records."""
        self._staging.prepare()
        with self._errors("begin transactions"):
            self._compare()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the records of an epoch visible, unless they are."""
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
        decided = EpochMark(visible + 1, epoch)
        if decided != self._decided:
            self._file.record(number=decided.number, epoch=epoch, topic=topic)
            self._decided, self._topic = decided, topic
            failpoint("kafka.decided")
        self._write(decided, staged)

    def _write(self, mark: EpochMark, staged: list[Staged]) -> None:
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
        """Read the visible epoch, unless this driver has read it."""
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

    def _recorded(self) -> EpochMark | None:
        """Return the newest epoch that had records, None if there was none."""
        recorded = self._file.read()
        if recorded is None:
            return None
        self._topic = recorded["topic"]
        return EpochMark(recorded["number"], recorded["epoch"])

    def _first_topic(self, staged: list[Staged]) -> str:
        first: str = next(self._staging.chunks(staged))[0][0]
        return first

    def _lost(self, decided: int, visible: int) -> SinkError:
        state = f"has {visible}" if visible else "has none"
        return SinkError(
            f"according to {self._file.path} the sink is at its epoch number {decided}, and the group {self._name!r} "
            f"in Kafka {state}",
            hint="Kafka has lost the offset (offsets.retention.minutes), the servers are others, or the job's "
            "directory is an older copy. Find out which epochs are in the topic, then start from a savepoint in "
            "a new checkpoint directory.",
            origin=self._context.origin,
        )

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        described = f"{doing} of sink {self._context.name!r}"
        return kafka_errors(SinkError, self._properties, described, self._context.origin)
