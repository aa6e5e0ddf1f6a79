"""Clients of servers that are kept in a process, and not used in one that was forked from it."""

from __future__ import annotations

import os
from typing import Any

HIDDEN = "******"
"""Text in place of a secret of a client."""

_abandoned: list[Any] = []


class OfThisProcess(dict[Any, Any]):
    """A table of clients, which is empty in a process that was forked."""

    def __init__(self) -> None:
        super().__init__()
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        _abandoned.extend(self.values())
        self.clear()
