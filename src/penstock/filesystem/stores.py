"""Stores by their paths."""

from __future__ import annotations

from collections.abc import Callable

from penstock.filesystem.azure_store import AzureStore
from penstock.filesystem.google_store import GoogleStore
from penstock.filesystem.object_path import AZURE, GOOGLE, S3, ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.s3_store import S3Store
from penstock.filesystem.store_settings import StoreSettings

_STORES: dict[str, Callable[[StoreSettings], ObjectStore]] = {
    S3: lambda settings: S3Store(settings.s3),
    GOOGLE: lambda settings: GoogleStore(settings.google),
    AZURE: lambda settings: AzureStore(settings.azure),
}


def store_of(path: ObjectPath, settings: StoreSettings | None = None) -> ObjectStore:
    """Return the store that has a path."""
    return _STORES[path.scheme](settings or StoreSettings())
