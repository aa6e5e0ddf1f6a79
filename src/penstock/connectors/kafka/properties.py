"""The properties of a Kafka client: what a program sets, and what nobody is shown.

A program may set any property of librdkafka, under its name there, which is mostly that of Kafka's Java
client. Of the Java client's own properties these are understood:

    sasl.jaas.config                     user name and password of a PLAIN or SCRAM login
    key.serializer, … .deserializer      left out: schemas do their work
    default.api.timeout.ms               for how long a call is repeated while a broker cannot be reached

Secrets are what `is_secret` says by the name of the property. No text of ours shows their values: `repr` hides
them, and `masked` removes them from texts of the library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.config.configuration import is_secret
from penstock.connectors.client_library import HIDDEN
from penstock.errors import ArgumentError
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
        """Return the properties with another one, or another value.

        Raises:
            ArgumentError: The name is no text, or the value none of these.
        """
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
        """Return the value of a property in milliseconds.

        Raises:
            ArgumentError: It is no integer.
        """
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
        """Return what a client of the library gets."""
        given = dict(self.items)
        login = _login_of(given.get("sasl.jaas.config", ""))
        own = {key: value for key, value in given.items() if key not in _OURS | _JAVAS}
        # No lines of the library on stderr: what matters is in our errors, and without secrets.
        return {"log_level": 0, **defaults, **login, **own, **fixed}

    def masked(self, text: str) -> str:
        """Return a text in which no secret of these properties is left."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

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
    found = {key: re.sub(r"\\(.)", r"\1", a or b) for key, a, b in _LOGIN.findall(jaas)}
    return {f"sasl.{key}": value for key, value in found.items()}
