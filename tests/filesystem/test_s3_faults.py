"""What is to be seen of S3 alone: checksums, logins, addresses. Faults of all stores are in `test_store_faults`."""

from __future__ import annotations

import base64

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_store import S3Store, s3_client
from penstock.filesystem.store_settings import S3Settings, settings_of_hadoop
from tests.s3_server import SECRET, FaultProxy, settings_of


def test_bytes_have_checksums_in_every_request_that_s3_wants_them_in(
    store: S3Store, proxy: FaultProxy, bucket: ObjectPath
) -> None:
    """The server of the tests does not look at them; Amazon's refuses parts of another kind, or without one."""
    upload = store.begin_upload(bucket / "part")
    part = store.upload_part(upload, 1, b"123456789")
    store.complete_upload(upload, [part])
    begin, sent, complete = proxy.requests
    check = base64.b64encode(bytes.fromhex("cbf43926")).decode()  # the check value of CRC-32
    assert begin.headers["x-amz-checksum-algorithm"] == "CRC32"
    assert sent.headers["x-amz-checksum-crc32"] == check
    assert sent.body == b"123456789"
    assert f"<ChecksumCRC32>{check}</ChecksumCRC32>".encode() in complete.body


def test_a_bucket_that_is_not_there_is_told(store: S3Store) -> None:
    with pytest.raises(FileNotFoundError, match="NoSuchBucket") as caught:
        store.write(ObjectPath("nowhere-at-all", "a"), b"1")
    assert "s3://nowhere-at-all/a" in str(caught.value)


def test_a_server_that_is_not_there_is_told_without_the_login(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    nobody = S3Store(settings_of("http://127.0.0.1:9"))
    with pytest.raises(OSError, match="EndpointConnectionError") as caught:
        nobody.read(ObjectPath("sales", "a"))
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(nobody)
    assert SECRET not in repr(nobody.settings)


def test_no_login_at_all_is_told(
    server: str, bucket: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = S3Store(S3Settings(endpoint=server, region="eu-west-1", is_path_style=True))
    with pytest.raises(PermissionError, match="NoCredentials"):
        store.read(bucket / "a")


def test_the_environment_says_where_and_who(
    server: str, bucket: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tester")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    store = S3Store(S3Settings(region="us-east-1"))
    store.write(bucket / "a", b"1")
    assert S3Store(settings_of(server)).read(bucket / "a") == b"1"


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(OSError, match="Invalid endpoint"):
        s3_client(S3Settings("k", "s", endpoint="no address", region="us-east-1"))


def test_hadoops_options_say_where_and_who() -> None:
    options = {
        "fs.s3a.access.key": "AK",
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": "minio:9000",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.endpoint.region": " eu-west-1 ",
    }
    assert settings_of_hadoop(options.get) == S3Settings(
        "AK", SECRET, None, "http://minio:9000", "eu-west-1", is_path_style=True
    )
    nothing: dict[str, str] = {}
    assert settings_of_hadoop(nothing.get) == S3Settings()
    assert (
        settings_of_hadoop({"fs.s3a.endpoint": "s3.example"}.get).endpoint == "https://s3.example"
    )
    assert S3Settings("AK", SECRET).masked(f"a {SECRET} b") == "a ****** b"
