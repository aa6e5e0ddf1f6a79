"""Archives are unpacked below their directory, whatever their members are called or lead to."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.driver.dependencies import _untar, _unzip

Member = tuple[str, str, str]
"""Kind ("file", "link", "hard"), name, and content or target."""


def packed_zip(path: Path, members: list[Member]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for kind, name, content in members:
            member = zipfile.ZipInfo(name)
            member.external_attr = (
                (stat.S_IFLNK | 0o777) if kind == "link" else (stat.S_IFREG | 0o4777)
            ) << 16
            packed.writestr(member, content)
    return path


def packed_tar(path: Path, members: list[Member]) -> Path:
    with tarfile.open(path, "w") as packed:
        for kind, name, content in members:
            member = tarfile.TarInfo(name)
            member.mode = 0o4777
            if kind == "file":
                member.size = len(content)
                packed.addfile(member, io.BytesIO(content.encode()))
            else:
                member.type = tarfile.SYMTYPE if kind == "link" else tarfile.LNKTYPE
                member.linkname = content
                packed.addfile(member)
    return path


FORMS = {"zip": (packed_zip, _unzip), "tar": (packed_tar, _untar)}

LEADING_OUT = {
    "parent": [("file", "../outside/x", "")],
    "deep parent": [("file", "a/../../outside/x", "")],
    "absolute": [("file", "/outside/x", "")],
    "link to parent": [("link", "a", "../outside")],
    "deep link": [("file", "d/f", ""), ("link", "d/a", "../../outside")],
    "link by name": [("link", "../outside/a", "b")],
    "through a link": [("link", "a", "OUTSIDE"), ("link", "a/x", "y")],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", LEADING_OUT)
def test_nothing_is_written_outside(tmp_path, form, case):
    outside, target = tmp_path / "outside", tmp_path / "target"
    outside.mkdir()
    target.mkdir()
    pack, unpack = FORMS[form]
    members = [(k, n, c.replace("OUTSIDE", str(outside))) for k, n, c in LEADING_OUT[case]]
    with pytest.raises(ConfigError, match="leads out"):
        unpack(pack(tmp_path / "packed", members), target)
    assert not list(outside.iterdir())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["outside", "packed", "target"]


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_not_written_through_a_link(tmp_path, form):
    outside, target = tmp_path / "outside", tmp_path / "target"
    outside.mkdir()
    target.mkdir()
    pack, unpack = FORMS[form]
    members = [("link", "a", str(outside)), ("file", "a/x", "written")]
    with pytest.raises((ConfigError, OSError)):
        unpack(pack(tmp_path / "packed", members), target)
    assert not list(outside.iterdir())


def test_a_hard_link_out_of_a_tar_file_is_refused(tmp_path):
    (tmp_path / "secret").write_text("s")
    (tmp_path / "target").mkdir()
    packed = packed_tar(tmp_path / "packed", [("hard", "a", "../secret")])
    with pytest.raises(ConfigError, match="leads out"):
        _untar(packed, tmp_path / "target")


@pytest.mark.parametrize("form", FORMS)
def test_links_inside_and_to_an_interpreter_are_kept(tmp_path, form):
    (tmp_path / "target").mkdir()
    pack, unpack = FORMS[form]
    members = [
        ("file", "lib/x", "x"),
        ("link", "lib/y", "../lib/x"),
        ("link", "bin/python", "/usr/bin/python3"),
    ]
    unpack(pack(tmp_path / "packed", members), tmp_path / "target")
    assert (tmp_path / "target/lib/y").read_text() == "x"
    assert str((tmp_path / "target/bin/python").readlink()) == "/usr/bin/python3"
    mode = (tmp_path / "target/lib/x").stat().st_mode
    assert not mode & (stat.S_ISUID | stat.S_IWGRP | stat.S_IWOTH)
    assert mode & stat.S_IXUSR
