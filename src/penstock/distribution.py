"""Under which name this package is installed, and with which extras.

The import is `penstock`; the distribution is not, because the index has another package of that name.
"""

from __future__ import annotations

from penstock.version import __version__

ON_INDEX = False
"""True if an index has a release. Until then every command installs the wheel that `make dist` builds."""

DISTRIBUTION = "penstock-spark"
"""Argument of `pip install`."""

EXTRAS: dict[str, tuple[str, ...]] = {
    "kafka": ("confluent-kafka",),
    "delta": ("deltalake",),
    "postgres": ("psycopg", "psycopg-binary"),
    "redis": ("redis", "hiredis"),
    "s3": ("botocore",),
    "azure": ("azure-storage-blob", "azure-identity"),
    "google": ("google-cloud-storage",),
    "otel": ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    "openlineage": ("openlineage-python",),
    "sql": ("sqlglot",),
    "ui": ("starlette", "uvicorn", "prometheus-client", "graphlay"),
}
"""The extras for systems, and the distributions that each of them installs."""

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "kafka": ("confluent-kafka>=2.16",),
    "delta": ("deltalake>=1.6",),
    "postgres": ("psycopg[binary]>=3.3.9",),
    "redis": ("redis>=8", "hiredis>=3.2"),
    "s3": ("botocore>=1.36",),
    "azure": ("azure-storage-blob>=12.26", "azure-identity>=1.20"),
    "google": ("google-cloud-storage>=3",),
    "otel": ("opentelemetry-sdk>=1.45", "opentelemetry-exporter-otlp-proto-http>=1.45"),
    "openlineage": ("openlineage-python>=1.54",),
    "sql": ("sqlglot>=30.24,<30.31",),
    "ui": ("starlette>=1", "uvicorn>=0.40", "prometheus-client>=0.22", "graphlay>=0.3.1"),
}
"""Argument of pip for each extra if the package itself is there."""


def install_command(extra: str = "") -> str:
    """Return the command that installs this package, in a checkout as long as there is no release.

    Examples:
        >>> install_command("kafka")
        "pip install 'dist/penstock_spark-0.1.0-py3-none-any.whl[kafka]'"
    """
    wheel = f"dist/{DISTRIBUTION.replace('-', '_')}-{__version__}-py3-none-any.whl"
    named = DISTRIBUTION if ON_INDEX else wheel
    return f"pip install '{named}{f'[{extra}]' if extra else ''}'"


def packages_command(extra: str) -> str:
    """Return the command that adds the packages of an extra to an environment that has this one.

    Examples:
        >>> packages_command("redis")
        "pip install 'redis>=8' 'hiredis>=3.2'"
    """
    return " ".join(["pip install", *(f"'{each}'" for each in REQUIREMENTS[extra])])


def install_hint(extra: str) -> str:
    """Return what to do when the client of a system is not installed.

    Examples:
        >>> install_hint("kafka")
        "Install it here and for the workers: pip install 'confluent-kafka>=2.16'."
    """
    return f"Install it here and for the workers: {packages_command(extra)}."
