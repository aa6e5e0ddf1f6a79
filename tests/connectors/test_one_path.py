"""Several paths of one source are read as they are named, whatever their names are."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors.files.local_listing import matching_paths
from penstock.connectors.local_path import one_path

NAMES = ["a,b", "c[1]", "{x,y}", "q*", "z\\w", "p?", "p lain", "e}", "f{"]
OTHERS = ["a", "b", "c1", "x", "y", "qq", "zw", "pp"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "d,[1]{a}"
    made.mkdir()
    for name in NAMES + OTHERS:
        (made / name).touch()
    return made


def test_paths_that_exist_are_no_globs(directory: Path) -> None:
    found = matching_paths(one_path(tuple(directory / name for name in NAMES)))
    assert found == sorted(str(directory / name) for name in NAMES)


def test_the_others_are_globs(tmp_path: Path) -> None:
    for name in ("a", "b", "c1", "cc", "d,1"):
        (tmp_path / name).touch()
    globs = ("{a,b}", "c[0-9]", "d,?", "none")
    found = matching_paths(one_path(tuple(f"{tmp_path}/{glob}" for glob in globs)))
    assert [Path(path).name for path in found] == ["a", "b", "c1", "d,1"]


def test_uris_stay_globs() -> None:
    assert one_path(("s3://b/{x,y}/1,2", "s3://b/z")) == r"s3://b/{{x,y}/1\,2,z}"
