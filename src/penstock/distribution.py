"""Under which name this package is installed, and with which extras.

The import is `penstock`; the distribution is not, because the index has another package of that name.
"""

from __future__ import annotations

DISTRIBUTION = "penstock-spark"
"""What `pip install` is told."""

EXTRAS: dict[str, tuple[str, ...]] = {
    "kafka": ("confluent-kafka",),
    "delta": ("deltalake",),
    "postgres": ("psycopg", "psycopg-binary"),
    "redis": ("redis", "hiredis"),
    "s3": ("botocore",),
    "otel": ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    "openlineage": ("openlineage-python",),
    "sql": ("sqlglot",),
    "ui": ("starlette", "uvicorn", "prometheus-client", "graphlay"),
}
"""The extras for systems, and the distributions that each of them installs."""


def install_hint(extra: str) -> str:
    """Return what to do when the client of a system is not installed.

    Args:
        extra: One of `EXTRAS`.

    Examples:
        >>> install_hint("kafka")
        "Install it here and for the workers: pip install 'penstock-spark[kafka]'."
    """
    return f"Install it here and for the workers: pip install '{DISTRIBUTION}[{extra}]'."
