"""Access to the page: names by which the server may be called, and who may act on jobs."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit


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


_SCHEME = "bearer"
_BYTES = 32


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_BYTES)


def is_token(authorization: str, token: str) -> bool:
    """Return whether a header `Authorization` has the token, in a time that does not depend on the header.

    Examples:
        >>> is_token("Bearer abc", "abc"), is_token("Bearer abd", "abc"), is_token("", "abc")
        (True, False, False)
    """
    scheme, _, given = authorization.partition(" ")
    is_right = hmac.compare_digest(given.strip().encode(), token.encode())
    return is_right and scheme.lower() == _SCHEME


def is_own_origin(origin: str, host: str) -> bool:
    """Return whether a request comes from a page of this server.

    Examples:
        >>> is_own_origin("http://127.0.0.1:8470", "127.0.0.1:8470")
        True
        >>> is_own_origin("http://127.0.0.1:8888", "127.0.0.1:8470"), is_own_origin("null", "127.0.0.1:8470")
        (False, False)
    """
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme not in {"http", "https"} or parts.path or parts.query or parts.fragment:
        return False
    return bool(host) and parts.netloc.lower() == host.strip().lower()
