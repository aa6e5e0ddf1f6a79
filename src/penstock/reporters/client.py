"""The libraries of other systems, which are imported when a job asks for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penstock.distribution import EXTRAS, install_hint
from penstock.errors import EnvironmentSetupError

_SYSTEMS = {"otel": "OpenTelemetry", "openlineage": "OpenLineage"}


def client(module: str, extra: str = "otel") -> Any:
    """Return a module of the libraries of an extra.

    Raises:
        EnvironmentSetupError: They are not installed.
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise EnvironmentSetupError(
            f"{_SYSTEMS[extra]} needs {', '.join(EXTRAS[extra])}: {cause}", hint=install_hint(extra)
        ) from cause
