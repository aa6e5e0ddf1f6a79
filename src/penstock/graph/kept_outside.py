"""Objects that a job keeps in other systems for itself, and that stay there when nobody continues the job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptOutside:
    """Object that a source or sink has made in another system.

    Attributes:
        what: What it is and where, in words without secrets.
        drop: Removes it; does nothing if it is not there.

    Example:
        >>> tables = {"stage_7"}
        >>> kept = KeptOutside("staged rows stage_7", lambda: tables.discard("stage_7"))
        >>> kept.drop()
        >>> tables
        set()
    """

    what: str
    drop: Callable[[], None]
