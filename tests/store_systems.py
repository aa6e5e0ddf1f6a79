"""The systems that have stores, each with a server for tests: what tests of all stores run on."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from penstock.filesystem.azure_store import container_client
from penstock.filesystem.object_path import AZURE, GOOGLE, S3, ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.s3_store import s3_client
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import store_of
from tests import azure_server, google_server, s3_server


@dataclass(frozen=True, slots=True)
class StoreSystem:
    """A system.

    Attributes:
        scheme: Of its paths.
        serve: Starts a server, and ends it.
        settings: Address of a server to how it is reached.
        make: Makes a bucket of a name.
        bucket: What paths have as their bucket, of a name.
        environment: Address of a server to the variables that say how it is reached.
    """

    scheme: str
    serve: Callable[[], AbstractContextManager[str]]
    settings: Callable[[str], StoreSettings]
    make: Callable[[str, str], object]
    bucket: Callable[[str], str]
    environment: Callable[[str], dict[str, str]]

    def store(self, url: str) -> ObjectStore:
        """Return the store at an address."""
        return store_of(ObjectPath("", scheme=self.scheme), self.settings(url))

    def new_bucket(self, url: str, name: str | None = None) -> ObjectPath:
        """Make a bucket."""
        called = name or f"b-{uuid.uuid4().hex[:12]}"
        self.make(url, called)
        return ObjectPath(self.bucket(called), scheme=self.scheme)


def _azure_bucket(name: str) -> str:
    return f"{name}@{azure_server.ACCOUNT}.dfs.core.windows.net"


def _make_google(url: str, name: str) -> None:
    body = json.dumps({"name": name}).encode()
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{url}/storage/v1/b?project=none", body, headers)  # noqa: S310
    urllib.request.urlopen(asked).close()  # noqa: S310


SYSTEMS = {
    "s3": StoreSystem(
        S3,
        s3_server.s3_server,
        lambda url: StoreSettings(s3=s3_server.settings_of(url)),
        lambda url, name: s3_client(s3_server.settings_of(url)).create_bucket(Bucket=name),
        str,
        lambda url: {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": s3_server.SECRET,
            "AWS_REGION": "us-east-1",
        },
    ),
    "azure": StoreSystem(
        AZURE,
        azure_server.azure_server,
        lambda url: StoreSettings(azure=azure_server.settings_of(url)),
        lambda url, name: container_client(
            azure_server.settings_of(url), _azure_bucket(name)
        ).create_container(),
        _azure_bucket,
        lambda url: {"AZURE_STORAGE_CONNECTION_STRING": azure_server.connection_string(url)},
    ),
    "google": StoreSystem(
        GOOGLE,
        google_server.google_server,
        lambda url: StoreSettings(google=google_server.settings_of(url)),
        _make_google,
        str,
        lambda url: {"STORAGE_EMULATOR_HOST": url},
    ),
}
"""Name to system."""
