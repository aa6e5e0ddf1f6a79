"""Settings of S3, as Hadoop's options `fs.s3a.*`; missing ones come from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

_HIDDEN = "******"
_SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@dataclass(frozen=True, slots=True, repr=False)
class S3Settings:
    """Address and login of S3. None is what the environment says, as for other programs that use AWS.

    No text of ours shows the login.

    Attributes:
        access_key: Id of the key.
        secret_key: The key.
        session_token: Token of a login that ends.
        endpoint: URL of a server that speaks the protocol of S3.
        region: Region of the buckets.
        is_path_style: Whether the bucket is in the path of requests, and not in the name of the host.
    """

    access_key: str | None = None
    secret_key: str | None = None
    session_token: str | None = None
    endpoint: str | None = None
    region: str | None = None
    is_path_style: bool = False

    def __repr__(self) -> str:
        login = "" if self.secret_key is None else f", login={_HIDDEN}"
        return f"S3Settings(endpoint={self.endpoint!r}, region={self.region!r}{login})"

    def masked(self, text: str) -> str:
        """Return a text in which no secret is left."""
        known = (self.secret_key, self.session_token, *map(os.environ.get, _SECRET_VARIABLES))
        for secret in filter(None, known):
            text = text.replace(secret, _HIDDEN)
        return text


def settings_of_hadoop(option: Callable[[str], str | None]) -> S3Settings:
    """Return what Hadoop's options say. Options of single buckets (`fs.s3a.bucket.…`) are not read."""

    def value(key: str) -> str | None:
        return (option(f"fs.s3a.{key}") or "").strip() or None

    endpoint = value("endpoint")
    if endpoint is not None and "://" not in endpoint:
        scheme = "http" if value("connection.ssl.enabled") == "false" else "https"
        endpoint = f"{scheme}://{endpoint}"
    return S3Settings(
        value("access.key"),
        value("secret.key"),
        value("session.token"),
        endpoint,
        value("endpoint.region"),
        value("path.style.access") == "true",
    )
