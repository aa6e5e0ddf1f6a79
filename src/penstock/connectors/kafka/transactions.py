"""Transactions of one sink: each has the records of an epoch, and the number of the epoch as an offset of a group.

    begin ─▶ records ─▶ offset of (group, topic, partition 0) = number ─▶ commit

Both or neither are there, so the offset tells which epochs are visible. Between epochs nothing is open, so down time
cannot lose data, and readers never wait. The producer that a driver makes first fences those of earlier drivers,
and ends what they left open; only then is the number read.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.connectors.kafka.client import (
    error_code,
    is_refusal,
    is_transient,
    library,
    patiently,
)
from penstock.connectors.kafka.producers import give, new_producer
from penstock.connectors.kafka.properties import GROUP, KafkaProperties
from penstock.connectors.kafka.readers import new_consumer
from penstock.connectors.kafka.record_limits import limit_of
from penstock.connectors.kafka.record_serialization import OutgoingRecord
from penstock.errors import CallSite, JobFencedError
from penstock.failpoint import failpoint

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


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of the sink in its consumer group.

    Attributes:
        number: Number of the last epoch that is visible.
        epoch: Its name.
    """

    number: int
    epoch: str


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
        """Fence earlier drivers, and end what they left open.

        Raises:
            KafkaException: The brokers do not answer.
        """
        if self._producer is None:
            self._is_lost = False
            fixed = {
                "transactional.id": self._name,
                _TIMEOUT_MS: self._timeout_ms,
                "error_cb": self._note_error,
            }
            if topic is not None:
                fixed["batch.size"] = min(limit_of(self._properties, topic), _MOST_BATCH_BYTES)
            made = new_producer(self._properties, "commit", fixed)
            patiently(
                lambda: made.init_transactions(self._request_seconds),
                self._properties.patience_seconds,
            )
            self._producer = made

    def last(self, topic: str) -> Mark | None:
        """Return the last epoch that is visible, None if there is none."""
        self.open(topic)
        place = library().TopicPartition(topic, 0)
        (found,) = patiently(
            lambda: self._group().committed([place], timeout=self._request_seconds),
            self._properties.patience_seconds,
        )
        if found.error is not None:
            raise library().KafkaException(found.error)
        return Mark(found.offset, found.metadata or "") if found.offset >= 0 else None

    def commit(
        self, mark: Mark, topic: str, chunks: Chunks, may_commit: Callable[[], None]
    ) -> None:
        """Make records visible, and the mark with them.

        Raises:
            JobFencedError: It has.
            KafkaException: The brokers refuse it, or do not answer. The next call of `last` says whether the
                records are visible.
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

    def _is_visible(self, mark: Mark, topic: str, may_commit: Callable[[], None]) -> bool:
        """Return whether an epoch is visible, with a new producer.

        Raises:
            JobFencedError: Another driver has taken over, and perhaps written.
        """
        may_commit()
        found = self.last(topic)
        if found == mark:
            return True
        if (0 if found is None else found.number) != mark.number - 1:
            raise self._fenced()
        return False

    def _note_error(self, error: Any) -> None:
        """Take note that brokers are away; the library calls it."""
        del error
        self._is_lost = True

    def _reason(self, error: Any) -> Any:
        """Return why a transaction is over. Calls after the first refusal only say that it is; its end says why.

        A callback of deliveries would be told, but the library may call it while an exception is on its way.
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
        mark: Mark,
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

    Raises:
        KafkaException: It failed, or does not return.
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
        made = library()
        raise made.KafkaException(made.KafkaError(error_code("_TIMED_OUT"), "no answer"))
    if raised:
        raise raised[0]
