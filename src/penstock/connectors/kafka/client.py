"""The client library, which is imported when a client is made, and its failures as ours.

`confluent-kafka` wraps librdkafka, which has threads of its own. A process that was forked has its memory and
not its threads: such a copy of a client is never used, and never freed either, because that waits for the threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from penstock.connectors.kafka.properties import KafkaProperties
from penstock.errors import CallSite, PenstockError
from penstock.extras import EXTRAS

T = TypeVar("T")

_LIBRARY = EXTRAS["kafka"]
check_installed, library = _LIBRARY.check_installed, _LIBRARY.load
_PAUSE_SECONDS = 0.1
_TRANSIENT = (
    *("_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_WAIT_COORD"),
    *("_RESOLVE", "_LEADER", "_RETRY", "_DESTROY_BROKER", "LEADER_NOT_AVAILABLE"),
    *("NOT_LEADER_FOR_PARTITION", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
    *("COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE"),
    *("NETWORK_EXCEPTION", "NOT_CONTROLLER", "UNSTABLE_OFFSET_COMMIT", "OFFSET_NOT_AVAILABLE"),
    # The library forgets what it knows of a topic when its connections end, and says so until it has asked again.
    *("CONCURRENT_TRANSACTIONS", "_IN_PROGRESS", "_UNKNOWN_PARTITION"),
)
"""Names of errors that may pass: a broker that starts, moves or cannot be reached."""


_REFUSALS = (
    *(
        "MSG_SIZE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_MSG",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
    ),
    *("POLICY_VIOLATION", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
    *("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "TOPIC_EXCEPTION"),
    *("SASL_AUTHENTICATION_FAILED", "_AUTHENTICATION", "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
    *("UNSUPPORTED_COMPRESSION_TYPE", "INVALID_TRANSACTION_TIMEOUT", "_INVALID_ARG"),
)
"""Names of errors that another attempt would repeat, also of a transaction that has to be aborted."""

_HINT_OF_SIZE = "The epoch is recorded, so the job goes on when the topic takes its records: raise max.message.bytes of the topic."
_HINT_OF_RIGHTS = (
    "Give the user of the job the right that it lacks (an ACL of topic, group or transactional id)."
)


def is_refusal(error: Any) -> bool:
    """Return whether an error of Kafka is permanent: brokers have answered, and would answer so again."""
    return error.name() in _REFUSALS


def _hint(error: Any) -> str:
    name = error.name() if hasattr(error, "name") else ""
    if "TOO_LARGE" in name:
        return _HINT_OF_SIZE
    if "AUTH" in name:
        return _HINT_OF_RIGHTS
    return (
        "Check the servers and the properties of the connector, and that the brokers are up. "
        "The job goes on where it was."
    )


def error_code(name: str) -> int:
    """Return the number of an error of Kafka by its name."""
    code: int = getattr(library().KafkaError, name)
    return code


def is_transient(error: Any) -> bool:
    """Return whether an error of Kafka may pass without anybody doing something."""
    return not error.fatal() and (error.retriable() or error.name() in _TRANSIENT)


@contextmanager
def kafka_errors(
    made: type[PenstockError],
    properties: KafkaProperties,
    doing: str,
    origin: CallSite | None = None,
) -> Iterator[None]:
    """Turn an error of Kafka in the block into one of ours, without secrets.

    Raises:
        PenstockError: The block raised an error of Kafka.
    """
    try:
        yield
    except library().KafkaException as cause:
        raise made(
            f"cannot {doing} at {properties.servers}: "
            f"{properties.masked(words_of_kafka(cause.args[0]))}",
            hint=_hint(cause.args[0]),
            origin=origin,
        ).permanent(
            hasattr(cause.args[0], "name") and is_refusal(cause.args[0])
        ) from None  # the cause may have a secret in its text, and a traceback would show it


def words_of_kafka(error: Any) -> str:
    """Return the text of an error of Kafka with its name."""
    name = getattr(error, "name", None)
    return f"{name()}: {error.str()}" if callable(name) else str(error)


def patiently(call: Callable[[], T], seconds: float) -> T:
    """Return what a call returns; repeat it while it fails for what may pass.

    Raises:
        KafkaException: It failed for another reason, or for too long.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return call()
        except library().KafkaException as cause:
            if not is_transient(cause.args[0]) or time.monotonic() >= until:
                raise
        time.sleep(_PAUSE_SECONDS)
