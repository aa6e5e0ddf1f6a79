"""The distribution, and its extras: a row for each, with its packages and, of a system, its sources, sinks and SQL tables.

A module of an extra is imported when it is needed, so `import penstock` costs nothing more, and a missing one is an
error that names the command which installs it. A connector is a folder in `connectors` and a row here: the pages, the
connectors of CREATE TABLE and `penstock.datastream.connectors` read the row.

The import is `penstock`; the distribution has another name, because the index has a package of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from penstock.errors import EnvironmentSetupError, MissingConnectorError, PenstockError
from penstock.version import __version__

ON_INDEX = False
"""True if an index has a release. Until then every command installs the wheel that `make dist` builds."""

DISTRIBUTION = "penstock-spark"
"""Argument of `pip install`."""


def install_command(extra: str = "") -> str:
    """Return the command that installs this package, in a checkout as long as there is no release.

    Examples:
        >>> install_command("kafka")
        "pip install 'dist/penstock_spark-0.1.0-py3-none-any.whl[kafka]'"
    """
    wheel = f"dist/{DISTRIBUTION.replace('-', '_')}-{__version__}-py3-none-any.whl"
    named = DISTRIBUTION if ON_INDEX else wheel
    return f"pip install '{named}{f'[{extra}]' if extra else ''}'"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A source or sink of a system.

    Attributes:
        place: Module and name of the class.
        facts: Cells of its row in the page about connectors, behind the name of the class.
        link: Page and section about it.
    """

    place: str
    facts: tuple[str, ...]
    link: str

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.place.partition(":")[2]

    def load(self) -> type:
        """Return the class."""
        target: type = resolve_name(self.place)
        return target


@dataclass(frozen=True, slots=True)
class Extra:
    """Packages that a part of Penstock needs and that are installed on request.

    Attributes:
        name: As in `penstock-spark[name]`.
        requirements: Arguments of pip.
        module: The module that is imported first.
        user: The part of Penstock that needs them, for errors.
        purpose: For the page about the installation.
        is_connector: Whether a source or sink needs them, in the driver and in workers.
        sources: Sources of the system.
        sinks: Sinks of the system.
        tables: Connectors of CREATE TABLE, each as module and name.

    Example:
        >>> Extra("json", ("json>=2",), "json", "a text", "texts").load().loads("[7]")
        [7]
    """

    name: str
    requirements: tuple[str, ...]
    module: str
    user: str
    purpose: str
    is_connector: bool = True
    sources: tuple[Endpoint, ...] = ()
    sinks: tuple[Endpoint, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def distributions(self) -> tuple[str, ...]:
        """Names of what pip installs.

        Examples:
            >>> EXTRAS["postgres"].distributions
            ('psycopg', 'psycopg-binary')
        """
        names: list[str] = []
        for requirement in self.requirements:
            name, _, parts = requirement.partition(">")[0].removesuffix("]").partition("[")
            names += [name, *(f"{name}-{part}" for part in parts.split(",") if part)]
        return tuple(names)

    @property
    def install_command(self) -> str:
        """The command that adds the packages to an environment that has this one.

        Examples:
            >>> EXTRAS["redis"].install_command
            "pip install 'redis>=8' 'hiredis>=3.2'"
        """
        return " ".join(["pip install", *(f"'{requirement}'" for requirement in self.requirements)])

    def check_installed(self, user: str = "", module: str = "") -> None:
        """Check that a module can be imported, without importing it."""
        name = module or self.module
        if not _is_there(name):
            raise self._missing(user or self.user, name, "is not installed")

    def load(self, module: str = "") -> Any:
        """Return a module, imported."""
        name = module or self.module
        try:
            return import_module(name)
        except ImportError as cause:
            # The package may be there, and lack one that it needs itself.
            problem = f"cannot be imported: {cause}" if _is_there(name) else "is not installed"
            raise self._missing(self.user, name, problem) from cause

    def _missing(self, user: str, module: str, problem: str) -> PenstockError:
        kind = MissingConnectorError if self.is_connector else EnvironmentSetupError
        where = "here and for the workers" if self.is_connector else "where the driver runs"
        return kind.here(
            f"{user} needs the package {self._package_of(module)}, which {problem}",
            hint=f"Install it {where}: {self.install_command}.",
        )

    def _package_of(self, module: str) -> str:
        dashed = module.replace(".", "-").replace("_", "-")
        near = [name for name in self.distributions if dashed.startswith(name)]
        return max(near, key=len, default=self.distributions[0])


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it is in
        return False


_TABLES = "penstock.sql.tables.connectors"
_STORES = "connectors/files.md#output-to"

EXTRAS: dict[str, Extra] = {
    extra.name: extra
    for extra in (
        Extra(
            "kafka",
            ("confluent-kafka>=2.16",),
            "confluent_kafka",
            "a Kafka client",
            "[Kafka](connectors/kafka.md)",
            sources=(
                Endpoint(
                    "penstock.connectors.kafka.kafka_source:KafkaSource",
                    ("unless `set_bounded`", "yes", "Kafka's"),
                    "connectors/kafka.md",
                ),
            ),
            sinks=(
                Endpoint(
                    "penstock.connectors.kafka.kafka_sink:KafkaSink",
                    ("exactly once, at least once, or as it happens",),
                    "connectors/kafka.md",
                ),
            ),
            tables=(f"{_TABLES}.kafka:KAFKA", f"{_TABLES}.kafka:UPSERT_KAFKA"),
        ),
        Extra(
            "delta",
            ("deltalake>=1.6",),
            "deltalake",
            "a Delta table",
            "[Delta tables](connectors/delta.md)",
            sources=(
                Endpoint(
                    "penstock.connectors.delta.delta_source:DeltaSource",
                    ("if `bounded`", "yes", "of the commit"),
                    "connectors/delta.md",
                ),
            ),
            sinks=(
                Endpoint(
                    "penstock.connectors.delta.delta_sink:DeltaSink",
                    ("exactly once, appended or merged by key",),
                    "connectors/delta.md#sink",
                ),
            ),
            tables=(f"{_TABLES}.delta:DELTA",),
        ),
        Extra(
            "postgres",
            ("psycopg[binary]>=3.3.9",),
            "psycopg",
            "a client of PostgreSQL",
            "[PostgreSQL](connectors/postgres.md)",
            sources=(
                Endpoint(
                    "penstock.connectors.postgres.postgres_source:PostgresSource",
                    ("with `set_bounded`", "yes", "times of commits"),
                    "connectors/postgres.md",
                ),
            ),
            sinks=(
                Endpoint(
                    "penstock.connectors.postgres.postgres_sink:PostgresSink",
                    ("exactly once, or at least once",),
                    "connectors/postgres.md#sink",
                ),
            ),
            tables=(f"{_TABLES}.postgres:JDBC", f"{_TABLES}.postgres:POSTGRES_CDC"),
        ),
        Extra(
            "redis",
            ("redis>=8", "hiredis>=3.2"),
            "redis",
            "a Redis client",
            "[Redis and Valkey](connectors/redis.md)",
            sources=(
                Endpoint(
                    "penstock.connectors.redis.redis_source:RedisSource",
                    ("if `bounded`", "yes", "of the id"),
                    "connectors/redis.md",
                ),
            ),
            sinks=(
                Endpoint(
                    "penstock.connectors.redis.redis_sink:RedisSink",
                    ("exactly once, to a stream or one hash per key",),
                    "connectors/redis.md#sink",
                ),
            ),
        ),
        Extra(
            "s3",
            ("botocore>=1.36",),
            "botocore",
            "a path of S3",
            f"[Output to S3]({_STORES}-s3), savepoints there",
        ),
        Extra(
            "azure",
            ("azure-storage-blob>=12.26", "azure-identity>=1.20"),
            "azure.storage.blob",
            "a path of Azure",
            f"The same [on Azure]({_STORES}-azure)",
        ),
        Extra(
            "google",
            ("google-cloud-storage>=3",),
            "google.cloud.storage",
            "a path of Google Cloud Storage",
            f"The same [on Google Cloud Storage]({_STORES}-google)",
        ),
        Extra(
            "otel",
            ("opentelemetry-sdk>=1.45", "opentelemetry-exporter-otlp-proto-http>=1.45"),
            "opentelemetry.sdk",
            "OpenTelemetry",
            "[OpenTelemetry](monitoring.md#opentelemetry)",
            is_connector=False,
        ),
        Extra(
            "openlineage",
            ("openlineage-python>=1.54",),
            "openlineage.client",
            "OpenLineage",
            "[OpenLineage](monitoring.md#openlineage)",
            is_connector=False,
        ),
        Extra(
            "sql",
            ("sqlglot>=30.24,<30.31",),
            "sqlglot",
            "SQL",
            "[SQL](sql.md)",
            is_connector=False,
        ),
        Extra(
            "duckdb",
            ("duckdb>=2.0",),
            "duckdb",
            "the comparison with DuckDB",
            "[Checks of SQL](check.md#scripts-of-sql) with DuckDB",
            is_connector=False,
        ),
        Extra(
            "ui",
            ("starlette>=1", "uvicorn>=0.40", "prometheus-client>=0.22", "graphlay>=0.3.1"),
            "starlette",
            "ui.port",
            "[The page and metrics](monitoring.md)",
            is_connector=False,
        ),
    )
}
"""Name to extra. The extras `demo` and `dev` are for a checkout only."""
