"""The keys of records that are sent, and their routes; errors name the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import CallSite
from penstock.program.channel import ChannelSpec
from penstock.program.routing import RecordRoutes
from penstock.program.selected_field import got
from penstock.runtime.exchange.channel_errors import no_key
from penstock.user_failure import raise_interrupt


def keys_of(spec: ChannelSpec, getter: Callable[[Any], Any] | None, values: list[Any]) -> list[Any]:
    """Return the key of every record.

    Raises:
        PenstockError: The selector failed.
    """
    select = spec.key_selector
    assert select is not None, "the channel has a key"
    if getter is not None and getter is not select:
        keys = got(getter, values)
        if keys is not None:
            return keys
    position = iter(values)
    try:
        return [select(value) for value in position]
    except BaseException as cause:
        raise no_key(cause, values, position, spec.origin) from cause


def routes_of(
    routes: RecordRoutes, keys: list[Any], values: list[Any], origin: CallSite | None
) -> list[int]:
    """Return the route of every record.

    Raises:
        PenstockError: A value cannot be a key.
    """
    try:
        found = routes.of(keys)
        if len(found) == len(keys):  # otherwise the code of a key raised StopIteration
            return found
    except BaseException as cause:  # noqa: BLE001 - the keys are routed one by one, which raises it again with the record
        raise_interrupt(cause)
    position = iter(keys)
    try:
        return [routes[key] for key in position]
    except BaseException as cause:
        raise no_key(cause, values, position, origin) from cause
