"""Laws of verified files: what was written comes back, any damage is noticed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DecodeError
from penstock.wire.atomic_file import (
    create_directory,
    read_verified,
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


def test_create_directory_makes_parents_and_accepts_existing(tmp_path: Path) -> None:
    create_directory(tmp_path / "a" / "b")
    create_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("below", ["", "child", "child/grandchild"])
def test_create_directory_refuses_a_file_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        create_directory(tmp_path / "file" / below)
