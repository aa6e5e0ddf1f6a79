"""Directories that the job itself reads and writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.errors import ArgumentError, JobDirectoryError, SavepointError
from penstock.filesystem.object_path import ObjectPath
from penstock.spark.job.mounted_path import (
    checkpoint_path,
    mounted_path,
    named_directory,
    savepoint_place,
)
from penstock.spark.savepoints.savepoint_requests import SavepointFutures, SavepointRequests


@pytest.mark.parametrize("text", ["/data/x", "file:///data/x", "file:/data/x"])
def test_a_uri_of_a_file_is_a_path(text: str) -> None:
    assert mounted_path(text, "the place", JobDirectoryError) == Path("/data/x")


def test_a_relative_path_is_taken_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mounted_path("a/b:c", "the place", JobDirectoryError) == tmp_path / "a/b:c"


@pytest.mark.parametrize(
    "place", ["s3://b/x", "s3a:/b/x", "gs://b", "swift://b", "HDFS://n:8020/x", Path("s3://b/x")]
)
def test_another_kind_of_storage_is_refused(place: str | Path) -> None:
    with pytest.raises(SavepointError, match=r"the place is .* not on a mounted") as caught:
        mounted_path(place, "the place", SavepointError)
    assert "mount" in caught.value.hint


def test_a_command_names_a_directory_in_a_store_or_the_first_of_its_generations(
    tmp_path: Path,
) -> None:
    assert str(named_directory(Path("s3://jobs/totals"))) == "s3://jobs/totals"
    begun = tmp_path / "generation-1"
    begun.mkdir()
    (begun / "restored.json").touch()
    assert (named_directory(tmp_path), checkpoint_path(tmp_path)) == (tmp_path, begun)


def test_a_shadow_of_a_job_in_a_store_has_a_mounted_directory(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.touch()
    refused = CliRunner().invoke(command_line(), ["shadow", str(script), "--of", "s3://jobs/a"])
    assert refused.exit_code != 0
    assert "the directory of a shadow is 's3://jobs/a-shadow'" in " ".join(refused.output.split())


def test_a_savepoint_may_be_in_s3() -> None:
    assert savepoint_place("s3a://sales/x/") == ObjectPath("sales", "x")
    assert savepoint_place("/data/x") == Path("/data/x")


def test_a_checkpoint_directory_may_be_in_a_store() -> None:
    for text in ("s3a://sales/x/", Path("s3://sales/x"), "s3n:/sales/x"):
        assert str(checkpoint_path(text)) == "s3://sales/x"
    assert checkpoint_path("/data/x") == Path("/data/x")
    for text, found in (
        ("gs:/sales/x", "gs://sales/x"),
        ("wasbs://a-b@shop.blob.core.windows.net/x/", "abfss://a-b@shop.dfs.core.windows.net/x"),
    ):
        assert str(checkpoint_path(text)) == found
    with pytest.raises(JobDirectoryError, match="not on a mounted"):
        checkpoint_path("hdfs://n:8020/x")
    with pytest.raises(ArgumentError, match="login in it") as caught:
        checkpoint_path("s3a://AK:s3cr3t@b/x")
    assert "s3cr3t" not in str(caught.value)


def test_a_login_is_not_shown() -> None:
    with pytest.raises(SavepointError, match="login in it") as caught:
        mounted_path("s3a://AK:s3cr3t@b/x", "the place", SavepointError)
    assert "s3cr3t" not in str(caught.value)


def test_no_savepoint_is_asked_for_that_would_be_in_a_directory_of_such_a_name(
    tmp_path: Path,
) -> None:
    future = SavepointFutures(tmp_path, None).submit("hdfs://b/savepoints", stop=False, drain=False)
    with pytest.raises(SavepointError, match="not on a mounted"):
        future.result()
    assert SavepointRequests(tmp_path).waiting() == []


def test_the_command_refuses_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path), "hdfs://b/savepoints"])
    assert done.exit_code != 0
    assert "mounted" in done.output
    assert list(tmp_path.iterdir()) == []
