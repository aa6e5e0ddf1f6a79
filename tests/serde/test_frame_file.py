"""Files of frames: what was written comes back, or an error names the file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpillError
from penstock.wire.frame_file import FrameFile

frames = st.lists(st.binary(max_size=300), max_size=20)


@given(first=frames, second=frames)
def test_frames_come_back_in_order_and_again(tmp_path_factory, first, second):
    file = FrameFile(tmp_path_factory.mktemp("spill") / "0.frames")
    for frame in first:
        file.add(frame)
    assert list(file) == first
    assert list(file) == first
    for frame in second:
        file.add(frame)
    file.finish()
    assert list(file) == first + second
    assert file.frames == len(first) + len(second)
    if file.frames:
        assert file.size_bytes == file.path.stat().st_size
    file.remove()
    assert not file.path.exists()


def written(tmp_path):
    file = FrameFile(tmp_path / "7.frames")
    for frame in (b"one" * 50, b"two" * 50, b"three" * 50):
        file.add(frame)
    file.finish()
    return file


def test_only_the_owner_may_read(tmp_path):
    assert stat.S_IMODE(written(tmp_path).path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    written(tmp_path)
    with pytest.raises(SpillError, match=r"7\.frames cannot be written: File exists"):
        FrameFile(tmp_path / "7.frames").add(b"x")


@pytest.mark.parametrize("missing", range(1, 60))
def test_truncated(tmp_path, missing):
    file = written(tmp_path)
    os.truncate(file.path, file.size_bytes - missing * 8)
    with pytest.raises(SpillError) as caught:
        list(file)
    assert str(file.path) in caught.value.problem
    assert caught.value.code == "SPILL"


@pytest.mark.parametrize("position", [0, 3, 5, 20, 160, 200, 400])
def test_a_byte_that_changed(tmp_path, position):
    file = written(tmp_path)
    data = bytearray(file.path.read_bytes())
    data[position] ^= 4
    file.path.write_bytes(data)
    with pytest.raises(SpillError, match=r"7\.frames is damaged"):
        list(file)


def test_gone(tmp_path):
    file = written(tmp_path)
    file.path.unlink()
    with pytest.raises(SpillError, match=r"7\.frames cannot be read: No such file"):
        list(file)


def write(file, frame):
    file.add(frame)
    file.finish()


FULL_DEVICE = Path("/dev/full")


@pytest.mark.skipif(not FULL_DEVICE.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_disk_full(size):
    file = FrameFile(FULL_DEVICE)
    file.frames = 1  # so that it is opened, not created
    with pytest.raises(SpillError) as caught:
        write(file, bytes(size))
    problem = f"the spill file /dev/full cannot be written: {os.strerror(errno.ENOSPC)}"
    assert caught.value.problem == problem
    assert "spark.local.dir" in caught.value.hint
