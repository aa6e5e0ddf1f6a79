"""Clients of servers: kept in a process and not used in one that was forked from it, and what their builders need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from penstock.errors import ArgumentError

_abandoned: list[Any] = []


class OfThisProcess(dict[Any, Any]):
    """A table of clients, which is empty in a process that was forked."""

    def __init__(self) -> None:
        super().__init__()
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        _abandoned.extend(self.values())
        self.clear()


def check_set(builder: str, needed: Mapping[str, tuple[object, str]]) -> None:
    """Check what a builder needs: its name to the value and the method that sets it."""
    for what, (value, method) in needed.items():
        if not value:
            raise ArgumentError.here(
                f"the builder of {builder} lacks {what}", hint=f"Call {method} first."
            )
