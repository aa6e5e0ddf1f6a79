"""Names of objects: a scheme, a bucket and a key. All schemes of a system name the same objects.

    s3://bucket/some/key                                         Amazon S3; also s3a, s3n
    gs://bucket/some/key                                         Google Cloud Storage
    abfss://container@account.dfs.core.windows.net/some/key      Azure; also abfs, wasbs, wasb, and the host with blob

The part between the slashes is called the bucket here; for Azure it is the container and the account.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from penstock.errors import ArgumentError

S3 = "s3"
GOOGLE = "gs"
AZURE = "abfss"

SCHEMES = {
    "s3": S3,
    "s3a": S3,
    "s3n": S3,
    "gs": GOOGLE,
    "abfss": AZURE,
    "abfs": AZURE,
    "wasbs": AZURE,
    "wasb": AZURE,
}
"""Scheme to the one under which we write the same name."""

_FORM = re.compile(rf"({'|'.join(SCHEMES)})://([^/]*)/*(.*)", re.DOTALL | re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_CONTAINER = re.compile(
    r"([a-z0-9$][a-z0-9-]{1,61}[a-z0-9])@([a-z0-9]{3,24})\.(?:dfs|blob)\.([a-z0-9.-]+)"
)

_LOGIN_HINTS = {
    S3: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or spark.hadoop.fs.s3a.access.key and "
    "spark.hadoop.fs.s3a.secret.key.",
    GOOGLE: "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account.",
    AZURE: "set AZURE_STORAGE_CONNECTION_STRING, or spark.hadoop.fs.azure.account.key.ACCOUNT.dfs.core.windows.net.",
}


@dataclass(frozen=True, slots=True)
class ObjectPath:
    """The name of an object, or the beginning of names, which is treated as a directory.

    Attributes:
        bucket: The bucket; of Azure container and account, as in `sales@shop.dfs.core.windows.net`.
        key: The key, without a slash at its beginning and end; empty is the whole bucket.
        scheme: `S3`, `GOOGLE` or `AZURE`.

    Example:
        >>> str(ObjectPath("sales", "2026") / "part-0.json")
        's3://sales/2026/part-0.json'
    """

    bucket: str
    key: str = ""
    scheme: str = S3

    def __truediv__(self, name: str) -> ObjectPath:
        """Return the path of a name below this one."""
        return self.at(f"{self.prefix}{name}")

    def __str__(self) -> str:
        top = f"{self.scheme}://{self.bucket}"
        return f"{top}/{self.key}" if self.key else top

    @property
    def name(self) -> str:
        """The part behind the last slash."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPath:
        """The path without its last name."""
        return self.at(self.key.rpartition("/")[0])

    @property
    def prefix(self) -> str:
        """Common prefix of the keys of everything below."""
        return f"{self.key}/" if self.key else ""

    def at(self, key: str) -> ObjectPath:
        """Return the path of another key in the same bucket."""
        return replace(self, key=key)


def object_path(text: str, doing: str) -> ObjectPath | None:
    """Return the path that a user wrote; None if it is one of another kind of storage."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    scheme = SCHEMES[match[1].lower()]
    bucket = _azure_bucket(text, match[2], doing) if scheme == AZURE else match[2]
    if scheme != AZURE:
        _check_bucket(text, bucket, scheme, doing)
    names = [name for name in match[3].split("/") if name]
    if {".", ".."} & set(names):
        raise ArgumentError.here(
            f"cannot {doing} {text!r}: object stores have no names '.' and '..'",
            hint="Write the path without them.",
        )
    return ObjectPath(bucket, "/".join(names), scheme)


def _check_bucket(text: str, bucket: str, scheme: str, doing: str) -> None:
    if "@" in bucket:
        raise _has_login(scheme, doing)
    if _BUCKET.fullmatch(bucket) is None:
        raise ArgumentError.here(
            f"cannot {doing} {text!r}: {bucket!r} is not the name of a bucket",
            hint=f"Write {scheme}://bucket/directory.",
        )


def _azure_bucket(text: str, bucket: str, doing: str) -> str:
    """Return container and account, with the host as Hadoop writes it."""
    match = _CONTAINER.fullmatch(bucket)
    if match is not None:
        return f"{match[1]}@{match[2]}.dfs.{match[3]}"
    if ":" in bucket or bucket.count("@") > 1:
        raise _has_login(AZURE, doing)
    raise ArgumentError.here(
        f"cannot {doing} {text!r}: {bucket!r} does not name a container and an account",
        hint=f"Write {AZURE}://container@account.dfs.core.windows.net/directory.",
    )


def _has_login(scheme: str, doing: str) -> ArgumentError:
    system = "S3" if scheme == S3 else scheme
    return ArgumentError.here(
        f"cannot {doing} a path of {system} that has a login in it",
        hint=f"Remove the login from the path, and {_LOGIN_HINTS[scheme]}",
    )
