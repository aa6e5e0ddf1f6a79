"""The libraries of OpenTelemetry, which are imported when a job asks for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penstock.distribution import EXTRAS, install_hint
from penstock.errors import EnvironmentSetupError

_EXTRA = "otel"


def client(module: str) -> Any:
    """Return a module of the libraries.

    Args:
        module: Its name, such as `opentelemetry.trace`.

    Raises:
        EnvironmentSetupError: They are not installed.
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise EnvironmentSetupError(
            f"OpenTelemetry needs {', '.join(EXTRAS[_EXTRA])}: {cause}", hint=install_hint(_EXTRA)
        ) from cause
