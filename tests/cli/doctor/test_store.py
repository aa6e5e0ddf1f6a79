"""`penstock doctor --store` notices what a store does wrong."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from penstock import extras
from penstock.cli.doctor import files as module
from penstock.cli.doctor.files import store
from penstock.cli.doctor.finding import Verdict
from penstock.cli.main import command_line
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import Upload
from tests.memory_store import MemoryStore
from tests.store_systems import SYSTEMS


class Careless(MemoryStore):
    """Replaces what it is told to create."""

    def create(self, path: ObjectPath, data: bytes) -> None:
        self.write(path, data)


class Open(MemoryStore):
    """Drops no upload."""

    def abort_upload(self, upload: Upload) -> None:
        del upload


class Eager(MemoryStore):
    """Shows what is being sent."""

    def begin_upload(self, path: ObjectPath) -> Upload:
        self.objects[path] = b""
        return super().begin_upload(path)


class Forgetful(MemoryStore):
    """Lists nothing."""

    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        del directory
        return []


class Refusing(MemoryStore):
    """Lets nobody write."""

    def create(self, path: ObjectPath, data: bytes) -> None:
        raise PermissionError(13, "S3 answered AccessDenied: no", str(path))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Careless, "created again"),
        (Open, "dropped can be completed"),
        (Eager, "before it is completed"),
        (Forgetful, "a list does not have"),
        (Refusing, "AccessDenied"),
    ],
)
def test_what_a_store_does_wrong_is_found(
    made: Callable[[], MemoryStore], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "store_of", lambda _: made())
    found = store("s3://sales/jobs")
    assert found.verdict is Verdict.FAIL
    assert text in found.text
    assert found.fix


@pytest.mark.parametrize("text", ["/data", "hdfs://n/x", "s3://x", "s3://AK:s3cr3t@sales/x"])
def test_what_is_no_path_of_a_store_is_told(text: str) -> None:
    found = store(text)
    assert found.verdict is Verdict.FAIL
    assert "s3cr3t" not in found.text


def test_a_library_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    found = store("gs://sales/x")
    assert found.verdict is Verdict.FAIL
    assert "google-cloud-storage" in found.text
    assert "google-cloud-storage" in (found.fix or "")


@pytest.mark.parametrize("name", ["azure", "google"])
def test_a_store_that_works_is_left_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = SYSTEMS[name]
    with system.serve() as url:
        bucket = system.new_bucket(url)
        for variable, value in system.environment(url).items():
            monkeypatch.setenv(variable, value)
        told = CliRunner().invoke(command_line(), ["doctor", "--json", "--store", f"{bucket}/jobs"])
        (line,) = [
            each for each in map(json.loads, told.output.splitlines()) if each["name"] == "store"
        ]
        assert line["verdict"] == "ok", line
        objects = system.store(url)
        assert (objects.list_below(bucket), objects.uploads(bucket)) == ([], [])
