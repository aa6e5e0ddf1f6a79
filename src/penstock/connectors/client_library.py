"""Client libraries that are extras: imported when a client is made, so that `import penstock` costs nothing more.

Clients of servers that are kept in a process, and not used in one that was forked from it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from penstock.distribution import install_hint
from penstock.errors import MissingConnectorError

HIDDEN = "******"
"""Text in place of a secret of a client."""


@dataclass(frozen=True, slots=True)
class ClientLibrary:
    """A library that connectors need.

    Attributes:
        module: What is imported.
        package: What is installed.
        extra: The extra of Penstock that has it.
        client: What is made with it, in words.

    Example:
        >>> ClientLibrary("json", "json", "none", "a text").load().loads("[7]")
        [7]
    """

    module: str
    package: str
    extra: str
    client: str

    def check_installed(self, what: str) -> None:
        """Check that the library can be imported, without importing it.

        Raises:
            MissingConnectorError: It cannot.
        """
        if find_spec(self.module) is None:
            raise MissingConnectorError.here(
                f"{what} needs the package {self.package}, which is not installed",
                hint=install_hint(self.extra),
            )

    def load(self) -> Any:
        """Return the module.

        Raises:
            MissingConnectorError: It is not installed.
        """
        if self.module not in sys.modules:
            self.check_installed(self.client)
        return import_module(self.module)


_abandoned: list[Any] = []


class OfThisProcess(dict[Any, Any]):
    """A table of clients, which is empty in a process that was forked."""

    def __init__(self) -> None:
        super().__init__()
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        _abandoned.extend(self.values())
        self.clear()
