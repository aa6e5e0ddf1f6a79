"""Names of objects: `s3://bucket/some/key`; Hadoop's schemes `s3a` and `s3n` name the same objects."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import ArgumentError

_FORM = re.compile(r"s3[an]?://([^/]*)/*(.*)", re.DOTALL | re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class ObjectPath:
    """The name of an object, or the beginning of names, which is treated as a directory.

    Attributes:
        bucket: The bucket.
        key: The key, without a slash at its beginning and end; empty is the whole bucket.

    Example:
        >>> str(ObjectPath("sales", "2026") / "part-0.json")
        's3://sales/2026/part-0.json'
    """

    bucket: str
    key: str = ""

    def __truediv__(self, name: str) -> ObjectPath:
        """Return the path of a name below this one."""
        return ObjectPath(self.bucket, f"{self.prefix}{name}")

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}" if self.key else f"s3://{self.bucket}"

    @property
    def name(self) -> str:
        """What is behind the last slash."""
        return self.key.rpartition("/")[2]

    @property
    def prefix(self) -> str:
        """What the keys of everything below begin with."""
        return f"{self.key}/" if self.key else ""


def object_path(text: str, doing: str) -> ObjectPath | None:
    """Return the path that a user wrote; None if it is one of another kind of storage.

    Args:
        text: E.g. `s3://bucket/key` or `s3a://bucket/key`.
        doing: What is done there, for the error.

    Raises:
        ArgumentError: It is no name of an object. The error does not show a login.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    bucket, key = found[1], found[2]
    if "@" in bucket:
        raise ArgumentError.here(
            f"cannot {doing} a path of S3 that has a login in it",
            hint="Remove the login from the path, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "spark.hadoop.fs.s3a.access.key and spark.hadoop.fs.s3a.secret.key.",
        )
    if _BUCKET.fullmatch(bucket) is None:
        raise ArgumentError.here(
            f"cannot {doing} {text!r}: {bucket!r} is no name of a bucket",
            hint="Write s3://bucket/directory.",
        )
    names = [name for name in key.split("/") if name]
    if {".", ".."} & set(names):
        raise ArgumentError.here(
            f"cannot {doing} {text!r}: object stores do not know the names '.' and '..'",
            hint="Write the path without them.",
        )
    return ObjectPath(bucket, "/".join(names))
