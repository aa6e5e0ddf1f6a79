"""The libraries of the server, which are imported when one is started."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from penstock.distribution import packages_command
from penstock.errors import EnvironmentSetupError


def library(name: str) -> Any:
    """Return a module of a library of the extra `ui`.

    Raises:
        EnvironmentSetupError: It is not installed.
    """
    package = name.partition(".")[0]
    if find_spec(package) is None:
        raise EnvironmentSetupError(
            f"ui.port needs the package {package}, which is not installed",
            hint=f"Install it where the driver runs: {packages_command('ui')}.",
        )
    return import_module(name)
