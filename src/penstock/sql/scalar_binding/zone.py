"""The zone of the statement that is bound: `table.local-time-zone` of its session.

It is a variable of the context, because conversions are everywhere; calls have it as a parameter, so workers need none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import tzinfo
from typing import Any

from penstock.config.parse import zone_named
from penstock.types.sql_types import SqlType

LOCAL_TIME_ZONE = "table.local-time-zone"
_ZONE: ContextVar[str | None] = ContextVar(LOCAL_TIME_ZONE, default=None)


def session_zone() -> str:
    """Return the name of the zone."""
    return _ZONE.get() or "UTC"


def zone_of_texts() -> tzinfo | None:
    """Return the zone of a TIMESTAMP_LTZ in a message whose text has none; None if the session names none."""
    name = _ZONE.get()
    return None if name is None else zone_named(name)


@contextmanager
def in_zone_of(environment: Any) -> Iterator[None]:
    """Bind statements in the zone of an environment."""
    token = _ZONE.set(environment.get_configuration().get_string(LOCAL_TIME_ZONE, None) or None)
    try:
        yield
    finally:
        _ZONE.reset(token)


def zone_parameters(*kinds: SqlType) -> tuple[str, ...]:
    """Return the zone as the parameters of a call that converts between types, none if it does not matter."""
    return (session_zone(),) if any(map(_has_instants, kinds)) else ()


def _has_instants(kind: SqlType) -> bool:
    return kind.name == "TIMESTAMP_LTZ" or any(map(_has_instants, kind.components))
