"""Results of key selectors: prepared, checked and routed.

Errors name the operator and the record.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

from penstock.errors import CallSite, UserFunctionError
from penstock.program.channel import ChannelSpec
from penstock.program.routing import RecordRoutes
from penstock.program.selected_field import got
from penstock.runtime.exchange.channel_errors import no_key
from penstock.types.list_key import ListKey, TupleKey, immutable_key
from penstock.user_failure import raise_interrupt, short
from penstock.wire.canonical.key_bytes import encode_key


def keys_of(spec: ChannelSpec, getter: Callable[[Any], Any] | None, values: list[Any]) -> list[Any]:
    """Return the key of every record."""
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
    """Return the route of every record."""
    try:
        key_routes = routes.of(keys)
        if len(key_routes) == len(keys):  # otherwise the code of a key raised StopIteration
            return key_routes
    except BaseException as cause:  # noqa: BLE001 - the keys are routed one by one, which raises it again with the record
        raise_interrupt(cause)
    position = iter(keys)
    try:
        return [routes[key] for key in position]
    except BaseException as cause:
        raise no_key(cause, values, position, origin) from cause


_SAMPLED_FIRST = 16
_SAMPLED_EVERY = 1024
_QUICK = frozenset({int, str, bytes, float, bool, type(None), tuple, ListKey, TupleKey})


def by_value(keys: list[Any]) -> list[Any]:
    """Return keys with lists as `ListKey`; other keys without a hash stay unchanged.

    Examples:
        >>> by_value([1, [2]])
        [1, [2]]
        >>> len({*by_value([[2], [2]])})
        1
    """
    if not keys or (type(keys[0]) not in _QUICK and _have_hash(set(map(type, keys)))):
        return keys
    try:
        # Hashing is the fastest check of all keys: strings cache their hash, which is needed soon anyway.
        hash(tuple(keys))
    except BaseException as cause:  # noqa: BLE001 - the error about a key without a hash names the record later
        raise_interrupt(cause)
        return [immutable_key(key) for key in keys]
    return keys


def _have_hash(kinds: set[type]) -> bool:
    """Return whether no instance of these classes is a list or contains one."""
    return tuple not in kinds and not any(kind.__hash__ is None for kind in kinds)


class SelectorCheck:
    """Calls the key selector of a channel a second time, unless a getter replaces it."""

    __slots__ = ("_is_first", "_selector", "_spec")

    def __init__(self, spec: ChannelSpec, getter: Callable[[Any], Any] | None) -> None:
        self._spec = spec
        self._selector = getter if getter is spec.key_selector and _is_users(getter) else None
        self._is_first = True

    def __call__(self, values: list[Any], keys: list[Any]) -> None:
        """Check some records of a batch."""
        if self._selector is None:
            return
        sample = (
            slice(None, _SAMPLED_FIRST) if self._is_first else slice(None, None, _SAMPLED_EVERY)
        )
        self._is_first = False
        for value, key in zip(values[sample], keys[sample], strict=True):
            try:
                again = immutable_key(self._selector(value))
            except BaseException as cause:
                raise_interrupt(cause)
                raise self._unsteady(value, key, cause) from cause
            if again is not key and not _is_same(key, again):
                raise self._unsteady(value, key, again)

    def _unsteady(self, value: Any, key: Any, again: Any) -> UserFunctionError:
        return UserFunctionError(
            f"the key selector of operator {self._spec.target_name!r} returned {short(key)} for the "
            f"record {short(value)} and {short(again)} at the second call",
            hint="A key must depend only on the record: no random numbers, clocks or "
            "counters. To spread records evenly use rebalance() or shuffle(); to break up a large "
            "key, take a part of the record into it, such as its id modulo a number.",
            origin=self._spec.origin,
        )


def _is_users(selector: Callable[[Any], Any] | None) -> bool:
    return type(selector) not in (itemgetter, attrgetter)


def _is_same(key: Any, again: Any) -> bool:
    try:
        return bool(key == again) or encode_key(key) == encode_key(again)
    except BaseException as cause:  # noqa: BLE001 - a value that is no key raises its own error later
        raise_interrupt(cause)
        return True
