"""Options of the page and of reports to other systems: OpenTelemetry, OpenLineage, logs."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from penstock.config.option import NOT_BLANK, ConfigOption, Limit
from penstock.config.parse import BOOLEAN, DURATION, INTEGER, STRING

_MOST_PORT = 65_535

UI_PORT: ConfigOption[int | None] = ConfigOption(
    key="ui.port",
    parse=INTEGER,
    default=None,
    description=(
        "Port of the page, `/metrics` for Prometheus and `/status`, in the driver; 0 is any free "
        "port, unset is no server. It needs the extra `ui`."
    ),
    check=Limit(
        f"must be between 0 and {_MOST_PORT:,}",
        lambda value: value is None or 0 <= value <= _MOST_PORT,
    ),
)

UI_ADDRESS: ConfigOption[str] = ConfigOption(
    key="ui.bind-address",
    parse=STRING,
    default="127.0.0.1",
    description=(
        "Address of that server. Readers need no login: open it only to networks whose users may "
        "see the job."
    ),
    check=NOT_BLANK,
)

UI_HOSTS: ConfigOption[str | None] = ConfigOption(
    key="ui.hosts",
    parse=STRING,
    default=None,
    description=(
        "Further names of the server, such as that of a proxy, separated by commas. Requests with"
        " an unknown `Host` are refused."
    ),
    check=NOT_BLANK,
)

_TOKEN = re.compile(r"[\w.~-]{16,}", re.ASCII)

UI_TOKEN: ConfigOption[str | None] = ConfigOption(
    key="ui.token",
    parse=STRING,
    default=None,
    description=(
        "Secret of the page's buttons for savepoints and stopping, at its address with "
        "`#token=…`. When unset, only `penstock run --ui` has buttons."
    ),
    check=Limit(
        "must have 16 characters or more: letters, digits, `-`, `_`, `.` and `~`",
        lambda value: value is None or _TOKEN.fullmatch(value) is not None,
    ),
)

UI_OPTIONS: tuple[ConfigOption[Any], ...] = (UI_PORT, UI_ADDRESS, UI_HOSTS, UI_TOKEN)
"""The options of this module, in the order of the reference page."""


_POSITIVE: Limit[timedelta | None] = Limit(
    "must be longer than 0", lambda value: value is None or value > timedelta(0)
)
_OFF = False

OTEL_ENABLED: ConfigOption[bool] = ConfigOption(
    key="otel.enabled",
    parse=BOOLEAN,
    default=_OFF,
    description=(
        "Send metrics and spans to an OpenTelemetry collector, by OTLP over HTTP. OpenTelemetry's"
        " environment variables count. It needs the extra `otel`."
    ),
)

OTEL_ENDPOINT: ConfigOption[str | None] = ConfigOption(
    key="otel.endpoint",
    parse=STRING,
    default=None,
    description=(
        "Address of the collector; when unset, that of the environment, else "
        "`http://localhost:4318`."
    ),
    check=NOT_BLANK,
)

OTEL_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="otel.interval",
    parse=DURATION,
    default=timedelta(seconds=60),
    description="Time between two reports of metrics.",
    check=_POSITIVE,
)

OTEL_MICRO_BATCH_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="otel.micro-batch-interval",
    parse=DURATION,
    default=timedelta(seconds=10),
    description="Least time between two micro-batches with a span.",
    check=_POSITIVE,
)

OPENLINEAGE_ENABLED: ConfigOption[bool] = ConfigOption(
    key="openlineage.enabled",
    parse=BOOLEAN,
    default=_OFF,
    description=(
        "Send the inputs and outputs of a job as events of OpenLineage, whose environment "
        "variables count. It needs the extra `openlineage`."
    ),
)

OPENLINEAGE_URL: ConfigOption[str | None] = ConfigOption(
    key="openlineage.url",
    parse=STRING,
    default=None,
    description=(
        "Address of the receiver, such as `http://localhost:5000`; when unset, that of the "
        "environment or `openlineage.yml`."
    ),
    check=NOT_BLANK,
)

OPENLINEAGE_NAMESPACE: ConfigOption[str | None] = ConfigOption(
    key="openlineage.namespace",
    parse=STRING,
    default=None,
    description=(
        "Namespace of jobs in OpenLineage; when unset, that of the environment, else `default`."
    ),
    check=NOT_BLANK,
)

OPENLINEAGE_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="openlineage.interval",
    parse=DURATION,
    default=timedelta(seconds=60),
    description=(
        "Least time between two events RUNNING of a job in which only numbers of records are new."
    ),
    check=_POSITIVE,
)

METRICS_LOG_INTERVAL: ConfigOption[timedelta | None] = ConfigOption(
    key="metrics.log-interval",
    parse=DURATION,
    default=None,
    description=(
        "Least time between two log lines with all metrics, at INFO. When unset they are logged "
        "at DEBUG whenever they change."
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
