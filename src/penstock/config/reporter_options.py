"""The options of what tells other systems of a job: OpenTelemetry, OpenLineage, and metrics in the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import NOT_BLANK, ConfigOption, Limit
from penstock.config.parse import BOOLEAN, DURATION, STRING

_POSITIVE: Limit[timedelta | None] = Limit(
    "must be longer than 0", lambda value: value is None or value > timedelta(0)
)
_OFF = False

OTEL_ENABLED: ConfigOption[bool] = ConfigOption(
    key="otel.enabled",
    parse=BOOLEAN,
    default=_OFF,
    description=(
        "Whether the driver sends metrics and spans to an OpenTelemetry collector, by OTLP over HTTP. OpenTelemetry's own "
        "environment variables count: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, "
        "`OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_SDK_DISABLED`. It needs the extra `otel`."
    ),
)

OTEL_ENDPOINT: ConfigOption[str | None] = ConfigOption(
    key="otel.endpoint",
    parse=STRING,
    default=None,
    description=(
        "Address of the collector, such as `http://localhost:4318`; `/v1/metrics` and `/v1/traces` are added. When unset it "
        "is that of the environment variable, else this example."
    ),
    check=NOT_BLANK,
)

OTEL_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="otel.interval",
    parse=DURATION,
    default=timedelta(seconds=60),
    description="Time between two reports of metrics; at the end of a job they are reported, too.",
    check=_POSITIVE,
)

OTEL_MICRO_BATCH_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="otel.micro-batch-interval",
    parse=DURATION,
    default=timedelta(seconds=10),
    description=(
        "Least time between two micro-batches of a run that have a span. There may be hundreds of micro-batches a second; their metrics "
        "count all of them."
    ),
    check=_POSITIVE,
)

OPENLINEAGE_ENABLED: ConfigOption[bool] = ConfigOption(
    key="openlineage.enabled",
    parse=BOOLEAN,
    default=_OFF,
    description=(
        "Whether the driver sends what a job reads and writes as events of OpenLineage. OpenLineage's own environment variables "
        "count: `OPENLINEAGE_URL`, `OPENLINEAGE_API_KEY`, `OPENLINEAGE_NAMESPACE`, `OPENLINEAGE_CONFIG`, `OPENLINEAGE_DISABLED`. "
        "It needs the extra `openlineage`."
    ),
)

OPENLINEAGE_URL: ConfigOption[str | None] = ConfigOption(
    key="openlineage.url",
    parse=STRING,
    default=None,
    description=(
        "Address of the receiver, such as `http://localhost:5000`; `/api/v1/lineage` is added. When unset it is what the "
        "environment or `openlineage.yml` says."
    ),
    check=NOT_BLANK,
)

OPENLINEAGE_NAMESPACE: ConfigOption[str | None] = ConfigOption(
    key="openlineage.namespace",
    parse=STRING,
    default=None,
    description="Namespace of jobs in OpenLineage. When unset it is that of the environment, else `default`.",
    check=NOT_BLANK,
)

OPENLINEAGE_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="openlineage.interval",
    parse=DURATION,
    default=timedelta(seconds=60),
    description="Least time between two events RUNNING of a job that only have new numbers of records.",
    check=_POSITIVE,
)

METRICS_LOG_INTERVAL: ConfigOption[timedelta | None] = ConfigOption(
    key="metrics.log-interval",
    parse=DURATION,
    default=None,
    description=(
        "Least time between two log lines with all metrics of a job, at INFO; the last ones are logged at its end. When unset they are "
        "logged at DEBUG whenever they change."
    ),
    check=_POSITIVE,
)

REPORTER_OPTIONS: tuple[ConfigOption[Any], ...] = (
    OTEL_ENABLED,
    OTEL_ENDPOINT,
    OTEL_INTERVAL,
    OTEL_MICRO_BATCH_INTERVAL,
    OPENLINEAGE_ENABLED,
    OPENLINEAGE_URL,
    OPENLINEAGE_NAMESPACE,
    OPENLINEAGE_INTERVAL,
    METRICS_LOG_INTERVAL,
)
"""The options of this module, in the order of the reference page."""
