"""A feed writes period by period until it is stopped, and says what ended it before."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.inputs.periodic_feed import PeriodicFeed


class Numbers(PeriodicFeed):
    """Writes files of two lines, as many as there is room for."""

    def __init__(self, data: Path, most: int) -> None:
        super().__init__(data, 0.001)
        self.most = most
        self.written = 0

    def write(self) -> None:
        if self.written == self.most:
            raise OSError("no room")
        self.put(f"{self.written}.txt", ["a", "ä"])
        self.written += 1


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_files_come_until_it_stops(tmp_path: Path) -> None:
    feed = Numbers(tmp_path, most=-1)
    feed.start()
    wait_for(lambda: feed.written >= 5)
    feed.stop()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(f"{number}.txt" for number in range(feed.written))
    assert (tmp_path / "4.txt").read_text(encoding="utf-8") == "a\nä\n"


def test_a_failure_is_raised_where_it_is_stopped(tmp_path: Path) -> None:
    feed = Numbers(tmp_path, most=2)
    feed.start()
    wait_for(lambda: feed.error is not None)
    with pytest.raises(OSError, match="no room"):
        feed.stop()
