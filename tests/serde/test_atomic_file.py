"""Laws of verified files: what was written comes back, any damage is noticed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DecodeError
from penstock.wire.atomic_file import (
    create_directory,
    put_exclusively,
    read_verified,
    remove_temporaries,
    temporary_of,
    write_atomically,
    write_verified,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.text()
PAYLOADS = st.dictionaries(st.text(), SCALARS | st.lists(SCALARS), max_size=5)


@given(PAYLOADS)
def test_payload_survives(tmp_path_factory: pytest.TempPathFactory, payload: Any) -> None:
    path = tmp_path_factory.mktemp("verified") / "file.json"
    write_verified(path, payload)
    assert read_verified(path) == payload


def test_bytes_are_pinned(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_verified(path, {"sequence": 7, "epoch": "live-7"})
    assert path.read_bytes() == b'{"epoch":"live-7","sequence":7}\ncrc32 bd7a1c1e\n'


def test_every_changed_or_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_verified(path, {"epoch": "live-7", "names": ["a", "b"]})
    data = path.read_bytes()
    damaged = [data[:end] for end in range(len(data))]
    damaged += [
        data[:at] + bytes([data[at] ^ flipped]) + data[at + 1 :]
        for at in range(len(data))
        for flipped in (1, 0x20, 0x80)
    ]
    damaged += [data + b"\n", data + data, b"\n" + data]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(DecodeError) as caught:
            read_verified(path)
        assert str(path) in caught.value.problem


def test_checksummed_text_that_is_no_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for content in (b"[1]\ncrc32 f721121f\n", b"nonsense\ncrc32 099f6ca0\n"):
        path.write_bytes(content)
        with pytest.raises(DecodeError, match="JSON"):
            read_verified(path)


def test_failure_before_the_rename_keeps_the_old_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space"):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    write_atomically(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert not temporary_of(path).exists()


def test_a_file_is_put_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    put_exclusively(path, b"first")
    with pytest.raises(FileExistsError):
        put_exclusively(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_nlink == 1


def test_of_many_writers_one_puts_the_file(tmp_path: Path) -> None:
    def put(number: int) -> bool:
        try:
            put_exclusively(tmp_path / "file", b"%d" % number * 10_000)
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        winners = [n for n, won in enumerate(threads.map(put, range(8))) if won]
    assert len(winners) == 1
    assert (tmp_path / "file").read_bytes() == b"%d" % winners[0] * 10_000
    assert len(list(tmp_path.iterdir())) == 1


def test_a_put_that_is_forbidden_in_the_end_leaves_nothing(tmp_path: Path) -> None:
    asked: list[int] = []

    def forbid() -> None:
        asked.append(len(list(tmp_path.iterdir())))
        if len(asked) == 2:
            raise PermissionError

    with pytest.raises(PermissionError):
        put_exclusively(tmp_path / "file", b"", forbid)
    assert asked == [0, 1]
    assert not list(tmp_path.iterdir())


def test_a_put_whose_temporary_file_was_removed_fails(tmp_path: Path) -> None:
    def remove() -> None:
        remove_temporaries(tmp_path)

    with pytest.raises(FileNotFoundError):
        put_exclusively(tmp_path / "file", b"", remove)
    assert not list(tmp_path.iterdir())


def test_only_temporary_files_are_removed(tmp_path: Path) -> None:
    for name in ("file", ".file.tmp", ".file.ab.tmp", ".hidden", "x.tmp"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "file", "x.tmp"]


def test_create_directory_makes_parents_and_accepts_existing(tmp_path: Path) -> None:
    create_directory(tmp_path / "a" / "b")
    create_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("below", ["", "child", "child/grandchild"])
def test_create_directory_refuses_a_file_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        create_directory(tmp_path / "file" / below)
