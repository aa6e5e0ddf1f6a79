"""Names of the data of sources and sinks in other systems.

The names are those of OpenLineage (https://openlineage.io/docs/spec/naming): a namespace is the place of data, a
name identifies data in it. They have no user names and no passwords.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from penstock.filesystem.object_path import AZURE, SCHEMES

_WILDCARD = re.compile(r"[*?\[{]")


@dataclass(frozen=True, slots=True)
class Dataset:
    """The name of a table, a topic, a stream, or a directory of files.

    Attributes:
        namespace: Where it is, such as `kafka://broker:9092` or `s3://bucket`; `file` is a local file system.
        format: Format of its rows, such as `parquet` or `delta`; empty if it has none, or it is unknown. It is no part of
            the name.
        keys: Columns by which a row replaces an earlier one; empty if rows are appended.
    """

    namespace: str
    name: str
    format: str = field(default="", compare=False, repr=False)
    keys: tuple[str, ...] = field(default=(), compare=False, repr=False)


def files_at(path: object) -> Dataset:
    """Return the dataset of files.

    Examples:
        >>> files_at("/data/orders/day=*/part-*.parquet")
        Dataset(namespace='file', name='/data/orders')
        >>> files_at("s3a://shop/orders")
        Dataset(namespace='s3://shop', name='orders')
        >>> files_at("hdfs://etl:secret@names:8020/orders")
        Dataset(namespace='hdfs://names:8020', name='/orders')
        >>> files_at("wasbs://sales@shop.blob.core.windows.net/orders")
        Dataset(namespace='abfss://sales@shop.blob.core.windows.net', name='orders')
    """
    if isinstance(path, Path):  # of a sink: it has no wildcards
        return Dataset("file", str(path))
    text = str(path)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", text):
        return Dataset("file", _before_wildcards(text))
    # Not urlsplit alone: a question mark is a wildcard of a path, and no query.
    scheme, _, rest = text.partition(":")
    if scheme == "file":
        return Dataset(
            "file", _before_wildcards("/" + rest.removeprefix("//localhost").lstrip("/"))
        )
    host, _, key = rest.removeprefix("//").partition("/")
    known = SCHEMES.get(scheme.lower(), scheme)
    login, _, server = host.rpartition("@")
    is_container = known == AZURE and not {":", "@"} & set(login)
    where = f"{known}://{host if is_container else server}"
    name = _before_wildcards(f"/{key}")
    return Dataset(where, name.lstrip("/") or "/" if known in SCHEMES else name)


def server_at(url: str, default_port: int) -> str:
    """Return scheme, host and port of a URL, without login and query.

    Examples:
        >>> server_at("redis://:secret@cache", 6379)
        'redis://cache:6379'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    if not host:
        return f"{parts.scheme}://{parts.path}"
    has_port = re.search(r":\d+$", host) is not None
    return f"{parts.scheme}://{host if has_port else f'{host}:{default_port}'}"


def _before_wildcards(path: str) -> str:
    plain: list[str] = []
    for part in PurePosixPath(path).parts:
        if _WILDCARD.search(part):
            break
        plain.append(part)
    return str(PurePosixPath(*plain)) if plain else path
