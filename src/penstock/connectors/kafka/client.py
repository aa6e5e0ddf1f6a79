"""The client library, the properties of a client, and its failures as errors of Penstock.

Creating the first client imports the library. `confluent-kafka` wraps librdkafka, which has threads of its own. A forked
process has their memory without the threads: it never uses such a copy of a client, and never frees it, because that
waits for the threads.

A program may set any property of librdkafka under the name that librdkafka uses, mostly that of Kafka's Java
client. These properties of the Java client work, too:

    sasl.jaas.config                     user name and password of a PLAIN or SCRAM login
    key.serializer, … .deserializer      left out: schemas do their work
    default.api.timeout.ms               for how long a call is repeated while a broker cannot be reached

`is_secret` recognises secrets by the name of the property. Messages never show their values: `repr` hides them, and
`masked` removes them from texts of the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from penstock.config.configuration import is_secret
from penstock.connectors.client_library import repeated
from penstock.errors import HIDDEN, ArgumentError, CallSite, PenstockError, masked
from penstock.extras import EXTRAS
from penstock.graph.dataset import Dataset

SERVERS = "bootstrap.servers"
GROUP = "group.id"
CLIENT_ID_PREFIX = "client.id.prefix"
DISCOVERY_MS = "partition.discovery.interval.ms"
COMMITS_OFFSETS = "commit.offsets.on.checkpoint"
API_TIMEOUT_MS = "default.api.timeout.ms"

_DEFAULT_API_TIMEOUT_MS = 30_000
_OURS = frozenset({CLIENT_ID_PREFIX, DISCOVERY_MS, COMMITS_OFFSETS, API_TIMEOUT_MS})
"""Properties that no client gets."""

_JAVAS = frozenset(
    {
        *("key.serializer", "value.serializer", "key.deserializer", "value.deserializer"),
        *("register.consumer.metrics", "sasl.jaas.config"),
    }
)
"""Properties of the Java client that librdkafka lacks, and that need no replacement."""

_LOGIN = re.compile(r"""(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


@dataclass(frozen=True, slots=True, repr=False)
class KafkaProperties:
    """Properties, in order of their names."""

    items: tuple[tuple[str, str], ...] = ()

    def with_property(self, key: str, value: object) -> KafkaProperties:
        """Return the properties with another one, or another value."""
        if not isinstance(key, str) or not key:
            raise ArgumentError.here(
                f"a property of Kafka is called {key!r}", hint="Pass its name as a string."
            )
        if not isinstance(value, str | int | float):
            shown = HIDDEN if is_secret(key) else repr(value)
            raise ArgumentError.here(
                f"the property {key} of Kafka is {shown}, a {type(value).__name__}",
                hint="Pass a string, a number, or a boolean.",
            )
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return KafkaProperties(tuple(sorted({**dict(self.items), key: text}.items())))

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the value of a property."""
        return dict(self.items).get(key, default)

    def datasets(self, topics: Sequence[str]) -> tuple[Dataset, ...]:
        """Return topics of the cluster, which is known by the first of its servers."""
        server = (self.get(SERVERS) or "").split(",")[0].strip().rpartition("://")[2]
        return tuple(Dataset(f"kafka://{server}", topic) for topic in topics)

    def milliseconds(self, key: str, default: int) -> int:
        """Return the value of a property in milliseconds."""
        text = self.get(key)
        try:
            return default if text is None else int(text)
        except ValueError as cause:
            raise ArgumentError.here(
                f"the property {key} of Kafka is {text!r}", hint="Pass milliseconds, as an int."
            ) from cause

    @property
    def servers(self) -> str:
        """The servers that clients connect to first."""
        return self.get(SERVERS) or "no servers"

    @property
    def patience_seconds(self) -> float:
        """Time for which a call is repeated while a broker cannot be reached."""
        return self.milliseconds(API_TIMEOUT_MS, _DEFAULT_API_TIMEOUT_MS) / 1000

    def of_client(
        self, defaults: Mapping[str, object], fixed: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the properties for a client of the library."""
        given = dict(self.items)
        login = _login_of(given.get("sasl.jaas.config", ""))
        own = {key: value for key, value in given.items() if key not in _OURS | _JAVAS}
        # No lines of the library on stderr: what matters is in our errors, and without secrets.
        return {"log_level": 0, **defaults, **login, **own, **fixed}

    def masked(self, text: str) -> str:
        """Return a text in which no secret of these properties is left."""
        return masked(text, self._secrets())

    def _secrets(self) -> set[str]:
        values = {value for key, value in self.items if is_secret(key)}
        for value in tuple(values):
            values |= {_login_of(value).get("sasl.password", "")}
        return values - {""}

    def __repr__(self) -> str:
        shown = (f"{key}={HIDDEN if is_secret(key) else value}" for key, value in self.items)
        return f"KafkaProperties({', '.join(shown)})"


def _login_of(jaas: str) -> dict[str, str]:
    """Return user name and password of a login in the form of Java."""
    login = {key: re.sub(r"\\(.)", r"\1", a or b) for key, a, b in _LOGIN.findall(jaas)}
    return {f"sasl.{key}": value for key, value in login.items()}


T = TypeVar("T")

_LIBRARY = EXTRAS["kafka"]
check_installed, library = _LIBRARY.check_installed, _LIBRARY.load
_TRANSIENT = (
    *("_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_WAIT_COORD"),
    *("_RESOLVE", "_LEADER", "_RETRY", "_DESTROY_BROKER", "LEADER_NOT_AVAILABLE"),
    *("NOT_LEADER_FOR_PARTITION", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
    *("COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE"),
    *("NETWORK_EXCEPTION", "NOT_CONTROLLER", "UNSTABLE_OFFSET_COMMIT", "OFFSET_NOT_AVAILABLE"),
    # The library drops the metadata of a topic when its connections end, and fails until it has fetched it again.
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
    """Return whether an error of Kafka may be temporary."""
    return not error.fatal() and (error.retriable() or error.name() in _TRANSIENT)


@contextmanager
def kafka_errors(
    error_class: type[PenstockError],
    properties: KafkaProperties,
    doing: str,
    origin: CallSite | None = None,
) -> Iterator[None]:
    """Turn an error of Kafka in the block into one of ours, without secrets."""
    try:
        yield
    except library().KafkaException as cause:
        raise error_class(
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
    """Return the result of a call; repeat it during temporary failures."""

    def may_pass(error: Exception) -> bool:
        return isinstance(error, library().KafkaException) and is_transient(error.args[0])

    return repeated(call, seconds, may_pass)


class KafkaClientBuilder:
    """The part that builders of a source and a sink have in common: the properties of the clients."""

    def __init__(self) -> None:
        self._properties = KafkaProperties()

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set the brokers that clients connect to first.

        Args:
            bootstrap_servers: `host:port`, several with commas between them.
        """
        return self.set_property(SERVERS, bootstrap_servers)

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of the clients; see the page about Kafka for those with another meaning here.

        Args:
            key: Its name in librdkafka, which is mostly the one in Java.
            value: Its value.

        Raises:
            ArgumentError: The name or the value is no text.
        """
        self._properties = self._properties.with_property(key, value)
        return self
