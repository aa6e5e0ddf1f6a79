"""Sends what the jobs of this process read and write to a receiver of OpenLineage events, over HTTP."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.reporter_options import (
    OPENLINEAGE_INTERVAL,
    OPENLINEAGE_NAMESPACE,
    OPENLINEAGE_URL,
)
from penstock.errors import EnvironmentSetupError
from penstock.events.listeners import add_listener
from penstock.reporters.client import client
from penstock.reporters.lineage_listener import LineageListener

_REQUEST_SECONDS = 5
_MILLISECOND = timedelta(milliseconds=1)
_CLIENT, _EXTRA = "openlineage.client.client", "openlineage"


def start_openlineage(configuration: Configuration) -> None:
    """Begin to send; it ends with the process.

    Args:
        configuration: Of a job.

    Raises:
        EnvironmentSetupError: The extra `openlineage` is not installed, or there is no receiver.
    """
    made = _client(configuration.get(OPENLINEAGE_URL))
    namespace = configuration.get(OPENLINEAGE_NAMESPACE) or os.environ.get("OPENLINEAGE_NAMESPACE")
    interval_ms = configuration.get(OPENLINEAGE_INTERVAL) // _MILLISECOND
    listener = LineageListener(made.emit, namespace=namespace or "default", interval_ms=interval_ms)
    add_listener(listener)


def _client(url: str | None) -> Any:
    factory = client(_CLIENT, _EXTRA).OpenLineageClient
    if url is not None:
        return factory(config={"transport": _transport(url)})
    made = factory()
    if made.transport.kind == "console" and not made.config.transport:
        raise EnvironmentSetupError(
            "openlineage.enabled is set, and there is no receiver",
            hint="Set openlineage.url, such as http://localhost:5000, or OPENLINEAGE_URL.",
        )
    return made


def _transport(url: str) -> dict[str, Any]:
    # The listener tries again, so the client does not.
    found: dict[str, Any] = {
        "type": "http",
        "url": url,
        "timeout": _REQUEST_SECONDS,
        "retry": {"total": 0},
    }
    endpoint, key = os.environ.get("OPENLINEAGE_ENDPOINT"), os.environ.get("OPENLINEAGE_API_KEY")
    if endpoint:
        found["endpoint"] = endpoint
    if key:
        found["auth"] = {"type": "api_key", "apiKey": key}
    return found
