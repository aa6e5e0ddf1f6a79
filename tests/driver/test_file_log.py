"""The log of files, and the readings on it: positions that mean one file for ever. Nothing here needs Spark."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.local_listing import Listed
from penstock.errors import StateError
from penstock.spark.sources.file_paths import plain, uri_of
from penstock.spark.sources.file_reads import listed_reading
from penstock.spark.sources.listing.file_log import FileLog, KnownFiles, PinnedFile, logged_files
from penstock.spark.sources.listing.file_readings import (
    FileCaps,
    ListedReading,
    Lister,
    PinnedReading,
)
from penstock.spark.sources.read_context import Pinned

MANY = 20_000


def may_put() -> None:
    """Allow it."""


def file(number: int, size: int = 10) -> PinnedFile:
    return PinnedFile(f"file:///in/{number}.json", size, 1_000 + number)


def opened(directory: Path, at: int = 0) -> FileLog:
    log = FileLog(directory, may_put)
    log.open(at)
    return log


def test_positions_are_those_of_the_first_put_also_behind_merges(tmp_path: Path) -> None:
    log = opened(tmp_path / "log")
    wanted = []
    for number in range(0, 3 * 1100, 3):
        some = [file(number + n) for n in range(3)]
        assert log.add(some)
        wanted += some
        log.forget_before(log.end - 2)
    parts = list((tmp_path / "log").iterdir())
    assert len(parts) < 3 * 32, "parts are merged"
    assert {int(path.name.split("-")[1]) for path in parts} == {0, 1, 2}
    for at in (0, 7, 3300):
        again = opened(tmp_path / "log", at)
        assert (again.end, again.files(at, again.end)) == (3300, wanted[at:])
        assert again.known.has(plain(wanted[0].uri))
        assert not again.known.has("file:/in/3300.json")
    assert logged_files(tmp_path / "log", 5) == {f.uri: (f.size, f.time_ms) for f in wanted[:5]}


def test_a_driver_that_was_killed_while_it_merged_leaves_one_answer(tmp_path: Path) -> None:
    log = opened(tmp_path / "log")
    kept: dict[str, bytes] = {}
    for number in range(40):
        kept |= {path.name: path.read_bytes() for path in (tmp_path / "log").glob("0*")}
        log.add([file(number)])
    for name, data in kept.items():
        (tmp_path / "log" / name).write_bytes(data)
    (tmp_path / "log" / ".000000000040-0.x.tmp").write_bytes(b"half")
    again = opened(tmp_path / "log")
    assert again.files(0, again.end) == [file(number) for number in range(40)]
    assert again.add([file(40)])
    assert len(logged_files(tmp_path / "log", 41)) == 41


def test_of_two_drivers_one_gives_a_position(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "log"), opened(tmp_path / "log")
    assert one.add([file(1)])
    assert not other.add([file(2), file(3)])
    assert other.files(0, other.end) == [file(1)]
    assert other.add([file(2)])
    assert not one.add([file(4)])
    assert one.files(0, one.end) == [file(1), file(2)]


def test_a_driver_that_was_replaced_puts_nothing(tmp_path: Path) -> None:
    def fenced() -> None:
        raise PermissionError

    log = FileLog(tmp_path / "log", fenced)
    log.open(0)
    with pytest.raises(PermissionError):
        log.add([file(1)])
    assert list((tmp_path / "log").iterdir()) == []


@pytest.mark.parametrize("name", ["000000000000-0", "000000000001-0"])
@pytest.mark.parametrize("how", ["removed", "damaged", "cut"])
def test_a_damaged_log_is_told(tmp_path: Path, name: str, how: str) -> None:
    log = opened(tmp_path / "log")
    for number in range(3):
        log.add([file(number)])
    path = tmp_path / "log" / name
    data = path.read_bytes()
    if how == "removed":
        path.unlink()
    else:
        path.write_bytes(data[:-4] if how == "cut" else data.replace(b"json", b"jsom", 1))
    with pytest.raises(StateError) as caught:
        opened(tmp_path / "log")
    assert str(tmp_path / "log") in caught.value.problem
    with pytest.raises(StateError):
        logged_files(tmp_path / "log", 3)


def test_a_log_that_lacks_what_was_read_is_told(tmp_path: Path) -> None:
    opened(tmp_path / "log").add([file(0)])
    with pytest.raises(StateError, match="it has 1 files, and 2 were read"):
        logged_files(tmp_path / "log", 2)
    with pytest.raises(StateError, match="it has 1 files, and 2 were read"):
        opened(tmp_path / "log", 2)


def test_parts_are_json(tmp_path: Path) -> None:
    name = "file:/in/\N{GRINNING FACE}\n\u2028 %20.json"
    opened(tmp_path / "log").add([PinnedFile(uri_of(name), 1, 2)])
    line, checksum = (tmp_path / "log" / "000000000000-0").read_text().splitlines()
    assert json.loads(line) == {"first": 0, "files": [[uri_of(name), 1, 2]]}
    assert checksum.startswith("crc32 ")
    assert plain(next(iter(logged_files(tmp_path / "log", 1)))) == name


@pytest.mark.parametrize("many", [20_000, 44_000])
def test_known_files_take_a_fraction_of_their_names(many: int) -> None:
    uris = [f"file:///data/visits/year=2024/month=07/part-{n:08d}.json" for n in range(many)]
    gc.collect()
    tracemalloc.start()
    try:
        known = KnownFiles()
        known.add(iter(uris))
        bytes_each = tracemalloc.get_traced_memory()[0] / many
    finally:
        tracemalloc.stop()
    assert bytes_each < 50, f"{bytes_each:.0f} bytes"
    assert len(known) == many


@given(st.lists(st.text(), max_size=40), st.lists(st.text(), max_size=40))
def test_known_files_are_a_set(some: list[str], others: list[str]) -> None:
    known = KnownFiles()
    names = [f"file:/{name}" for name in some]
    known.add(map(uri_of, names))
    known.add(map(uri_of, names))
    assert all(map(known.has, names))
    assert len(known) == len({*names})
    assert not any(known.has(f"file:/{name}") for name in {*others} - {*some})


@given(
    sizes=st.lists(st.integers(0, 300), max_size=60),
    usual=st.integers(1, 9),
    factor=st.integers(1, 4),
)
def test_pinned_files_are_read_once_in_order(sizes: list[int], usual: int, factor: int) -> None:
    files = {f"file:///{n % 7}/{n}": (size << 20, n % 5) for n, size in enumerate(sizes)}
    reading = PinnedReading(1, FileCaps(usual, factor), files, ends=True)
    at, found = 0, []
    while not reading.is_at_end(at):
        until = reading.advance(at)
        assert at < until <= at + usual * factor
        taken = reading.files(at, until)
        assert len(taken) <= usual or sum(each.size for each in taken) <= 512 << 20
        found += taken
        at = until
        assert reading.files_left(at) == len(files) - at
    assert [each.uri for each in found] == sorted(
        files, key=lambda uri: (files[uri][1], plain(uri))
    )


class Directory:
    """Files that a test puts there and takes away."""

    def __init__(self) -> None:
        self.files: dict[str, Listed] = {}
        self.listings = 0
        self.now = 10.0

    def put(self, name: str, time_ms: int, size: int = 1) -> None:
        self.files[f"file:/in/{name}"] = (time_ms, f"file:/in/{name}", size)

    def listed(self, is_included: Callable[[str], bool]) -> list[Listed]:
        self.listings += 1
        return [each for name, each in self.files.items() if is_included(name)]

    def reading(self, log: FileLog, usual: int = 2, factor: int = 1) -> ListedReading:
        return ListedReading(
            1,
            FileCaps(usual, factor),
            log,
            Lister(self.listed, self.files.get, 1.0),
            lambda: self.now,
        )


@pytest.mark.parametrize(("interval", "pause"), [(None, 0.02), (0.005, 0.02), (30.0, 30.0)])
def test_a_directory_is_listed_again_after_the_interval_of_the_program(
    tmp_path: Path, interval: float | None, pause: float
) -> None:
    source = FileSource(str(tmp_path), "text", continuous=True, discovery_seconds=interval)
    context: Any = SimpleNamespace(
        source=1,
        part=0,
        directory=tmp_path,
        fence=may_put,
        earlier={},
        pinned=Pinned(),
        session=None,
        caps=FileCaps(2),
    )
    reading = listed_reading(context, source)
    assert isinstance(reading, ListedReading)
    reading.open(0)
    assert reading.advance(0) == 0
    waits = reading.seconds_to_listing()
    assert pause / 2 < waits <= pause + 1  # or longer, if the listing took its time


def names(reading: ListedReading, first: int, last: int) -> list[str]:
    return [each.uri.removeprefix("file:///in/") for each in reading.files(first, last)]


def test_files_get_positions_when_they_are_planned(tmp_path: Path) -> None:
    directory = Directory()
    reading = directory.reading(FileLog(tmp_path / "log", may_put))
    reading.open(0)
    assert reading.advance(0) == 0
    assert reading.seconds_to_listing() == 1.0
    for number in (3, 1, 2, 5):
        directory.put(str(number), number)
    assert reading.advance(0) == 0, "it is too early to look"
    directory.now += 1
    assert (reading.advance(0), names(reading, 0, 2)) == (2, ["1", "2"])
    assert reading.files_left(2) == 2
    directory.put("0", 0)
    directory.put("5", 5, size=7)
    del directory.files["file:/in/3"]
    assert (reading.advance(2), names(reading, 2, 3)) == (3, ["5"]), (
        "3 is gone, and nobody planned it"
    )
    assert reading.files(2, 3)[0].size == 7, "it grew before it was planned"
    directory.now += 1
    assert (reading.advance(3), names(reading, 3, 4)) == (4, ["0"])
    again = directory.reading(FileLog(tmp_path / "log", may_put))
    again.open(2)
    assert not again.is_pinned_here(3)
    assert (again.advance(2), names(again, 2, 4)) == (4, ["5", "0"]), "in the order of the log"
    assert again.advance(4) == 4


def test_what_was_planned_and_not_read_comes_first(tmp_path: Path) -> None:
    directory = Directory()
    directory.put("2", 2)
    first = directory.reading(FileLog(tmp_path / "log", may_put))
    first.open(0)
    assert first.advance(0) == 1
    directory.put("1", 1)
    del directory.files["file:/in/2"]
    again = directory.reading(FileLog(tmp_path / "log", may_put), usual=9)
    again.open(0)
    assert (again.advance(0), names(again, 0, 2)) == (2, ["2", "1"]), (
        "a missing one is not left out"
    )
    assert not again.is_pinned_here(0)
    assert again.is_pinned_here(1)
    again.forget_before(2)
    directory.put("2", 20)
    directory.now += 1
    assert again.advance(2) == 2, "a file is read once, also if it is put there again"


def test_epochs_are_larger_while_many_files_wait(tmp_path: Path) -> None:
    directory = Directory()
    for number in range(100):
        directory.put(str(number), number)
    reading = directory.reading(FileLog(tmp_path / "log", may_put), usual=4, factor=3)
    reading.open(0)
    at, sizes = 0, []
    while (until := reading.advance(at)) > at:
        sizes.append(until - at)
        reading.forget_before(until)
        at = until
    assert sizes[:5] == [12, 12, 12, 12, 12]
    assert sizes[-3:] == [4, 4, sizes[-1]]
    assert sum(sizes) == 100
    assert directory.listings == 1
