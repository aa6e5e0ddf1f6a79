"""Access to the actions of a page: a page that this server has sent, opened by somebody who has the token.

    http://127.0.0.1:8470/#token=…     printed on the terminal of who began the server, never logged
    Authorization: Bearer …            sent by the page with each request to change a job

A browser keeps what is behind `#` to itself: it is in no request, no log of a proxy and no `Referer`. The page takes it
out of the address bar and keeps it for its own tab. A cookie would go to every port of the machine, and by itself
with requests that other pages forge; a header is sent by nobody but our script. `Origin` is checked all the same.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlsplit

_SCHEME = "bearer"
_BYTES = 32


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(_BYTES)


def is_token(authorization: str, token: str) -> bool:
    """Return whether a header `Authorization` has the token; how long it takes does not say how much is right.

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
