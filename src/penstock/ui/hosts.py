"""Names by which the server may be called.

A page of somebody else's can make a browser call a name that suddenly means 127.0.0.1, and would read the answer as its
own (DNS rebinding). The browser then sends that name as `Host`, so names that are not ours are refused. An address
is nobody's name, and cannot be made to mean another one.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import ip_address


def own_names(more: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of this machine, and further ones, in lower case."""
    host = socket.gethostname()
    return frozenset(name.strip().lower() for name in ("localhost", host, *more) if name.strip())


def is_ours(host: str, names: frozenset[str]) -> bool:
    """Return whether a `Host` is an address, or one of the names.

    Examples:
        >>> is_ours("127.0.0.1:8080", frozenset()), is_ours("[::1]", frozenset())
        (True, True)
        >>> is_ours("evil.example", frozenset({"localhost"}))
        False
    """
    text = host.strip().lower()
    if text.startswith("["):
        name, bracket, port = text[1:].partition("]")
        is_whole = bool(bracket) and (not port or _is_port(port.removeprefix(":")))
        return is_whole and _is_address(name)
    name, colon, port = text.partition(":")
    if colon and not _is_port(port):
        return False
    return name in names or _is_address(name)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
