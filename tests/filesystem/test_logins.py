"""Logins of Azure and Google: where they come from, and that they are shown nowhere."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from penstock.filesystem.azure_store import AzureStore, container_client
from penstock.filesystem.google_store import GoogleStore
from penstock.filesystem.object_path import GOOGLE, ObjectPath
from penstock.filesystem.store_settings import (
    AzureLogin,
    AzureSettings,
    GoogleSettings,
    azure_settings_of_hadoop,
    google_settings_of_hadoop,
    store_settings_of_hadoop,
)
from tests import azure_server
from tests.filesystem.conftest import Servers
from tests.store_systems import SYSTEMS

VARIABLES = (
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
)
OTHER_KEY = azure_server.KEY.replace("Eby8", "AAAA")
SAS = "sv=2026&sig=s3cr3tsignature"


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_hadoops_options_have_logins_of_azure() -> None:
    options = {
        "fs.azure.account.key.shop.dfs.core.windows.net": OTHER_KEY,
        "fs.azure.sas.fixed.token.other.dfs.core.windows.net": f" {SAS} ",
        "fs.azure.account.key": "any",
        "fs.azure.account.key.empty.dfs.core.windows.net": "",
        "fs.azure.account.keyprovider.shop": "x",
        "fs.s3a.access.key": "y",
    }
    found = azure_settings_of_hadoop(options)
    assert found.login_of("shop") == AzureLogin(OTHER_KEY)
    assert found.login_of("other") == AzureLogin(None, SAS)
    assert found.login_of("third") == AzureLogin("any")
    for shown in (repr(found), repr(found.logins), str(found.login_of("shop"))):
        assert OTHER_KEY not in shown
        assert "s3cr3t" not in shown
    assert found.masked(f"a {OTHER_KEY} {SAS}") == "a ****** ******"


def test_the_environment_has_logins_of_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert AzureSettings().login_of("shop") == AzureLogin()
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", SAS)
    assert AzureSettings().login_of("shop") == AzureLogin(None, SAS)
    assert AzureSettings().masked(SAS) == "******"
    monkeypatch.setenv("AZURE_STORAGE_KEY", OTHER_KEY)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "shop")
    assert AzureSettings().login_of("shop") == AzureLogin(OTHER_KEY)
    assert AzureSettings().login_of("other") == AzureLogin()
    text = f"AccountName=other;AccountKey={azure_server.KEY};BlobEndpoint=http://h/other;"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    assert AzureSettings().login_of("other") == AzureLogin(azure_server.KEY, None, "http://h/other")
    assert AzureSettings().login_of("shop") == AzureLogin(OTHER_KEY)
    assert AzureSettings().masked(azure_server.KEY) == "******"


def test_the_environment_reaches_a_server_of_azure(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = servers.of("azure")
    bucket = SYSTEMS["azure"].new_bucket(url)
    for name, value in SYSTEMS["azure"].environment(url).items():
        monkeypatch.setenv(name, value)
    AzureStore().write(bucket / "a", b"1")
    assert SYSTEMS["azure"].store(url).read(bucket / "a") == b"1"


@pytest.mark.parametrize("key", [OTHER_KEY, "no base64!"])
def test_a_wrong_key_is_told_and_not_shown(servers: Servers, key: str) -> None:
    url = servers.of("azure")
    bucket = SYSTEMS["azure"].new_bucket(url)
    store = AzureStore(azure_server.settings_of(url, key=key))
    with pytest.raises(OSError, match=r"AuthenticationFailed|[Bb]ase64|padding") as caught:
        store.read(bucket / "a")
    assert key not in str(caught.value)
    assert key not in repr(store)
    assert pickle.loads(pickle.dumps(store)) == store


def test_an_account_has_the_host_of_its_path() -> None:
    settings = AzureSettings((("shop", AzureLogin(OTHER_KEY)),))
    client = container_client(settings, "sales@shop.dfs.core.chinacloudapi.cn")
    assert client.url == "https://shop.blob.core.chinacloudapi.cn/sales"
    shared = AzureSettings((("shop", AzureLogin(None, SAS)),))
    assert container_client(shared, "sales@shop.dfs.core.windows.net").url.startswith(
        "https://shop.blob.core.windows.net/sales?"
    )


def test_hadoops_options_say_where_google_is(tmp_path: Path) -> None:
    options = {"fs.gs.auth.service.account.json.keyfile": "/k.json"}
    assert google_settings_of_hadoop(options.get) == GoogleSettings("/k.json")
    older = {
        "google.cloud.auth.service.account.json.keyfile": "/k.json",
        "fs.gs.storage.root.url": "http://h/",
    }
    assert google_settings_of_hadoop(older.get) == GoogleSettings("/k.json", "http://h")
    assert store_settings_of_hadoop(options.get, options).google == GoogleSettings("/k.json")
    store = GoogleStore(GoogleSettings(str(tmp_path / "nothing.json")))
    with pytest.raises(OSError, match=r"nothing\.json"):
        store.read(ObjectPath("sales", "a", GOOGLE))
    (tmp_path / "key.json").write_text(json.dumps({"private_key": "s3cr3t"}))
    with pytest.raises(OSError, match=r"MalformedError|ValueError") as caught:
        GoogleStore(GoogleSettings(str(tmp_path / "key.json"))).read(
            ObjectPath("sales", "a", GOOGLE)
        )
    assert "s3cr3t" not in str(caught.value)


def test_the_environment_reaches_a_server_of_google(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = servers.of("google")
    bucket = SYSTEMS["google"].new_bucket(url)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    store = GoogleStore(GoogleSettings(retry_seconds=3))
    store.write(bucket / "a", b"1")
    assert SYSTEMS["google"].store(url).read(bucket / "a") == b"1"
