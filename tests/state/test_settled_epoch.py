"""The mark of the last settled epoch: read back, and no mark at all if it is not whole."""

from __future__ import annotations

import stat

import pytest

from penstock.state.log.epoch_log import SETTLED, read_settled, write_settled


def test_the_last_mark_counts(tmp_path):
    assert read_settled(tmp_path) is None
    for epoch in (0, 7, 12, 3):
        write_settled(tmp_path, epoch)
        assert read_settled(tmp_path) == epoch
    path = tmp_path / SETTLED
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"000000000003 3d77fa4d\n"


def test_a_damaged_mark_is_none(tmp_path):
    write_settled(tmp_path, 12)
    path = tmp_path / SETTLED
    data = path.read_bytes()
    for at in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        assert read_settled(tmp_path) is None
    for size in range(len(data)):
        path.write_bytes(data[:size])
        assert read_settled(tmp_path) is None
    write_settled(tmp_path, 13)
    assert read_settled(tmp_path) == 13


def test_a_mark_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / SETTLED).mkdir()
    with pytest.raises(OSError, match=SETTLED):
        read_settled(tmp_path)
