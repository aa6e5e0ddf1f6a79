"""Spill stores: what was put comes back in order, or an error names the file."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys

import lmdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpillError
from penstock.runtime.spill import spill_space
from penstock.runtime.spill.spill_space import SpillStore

addresses = st.binary(min_size=1, max_size=9)
contents = st.dictionaries(addresses, st.binary(max_size=300), max_size=20)


@given(
    first=contents,
    second=contents,
    prefix=st.binary(max_size=1),
    at_once=st.sampled_from([1, 500, 1 << 20]),
)
def test_rows_come_back_in_order_and_again(tmp_path_factory, first, second, prefix, at_once):
    store = SpillStore(tmp_path_factory.mktemp("spill") / "0.mdb")
    second = {address: frame for address, frame in second.items() if address not in first}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill_space, "_TRANSACTION_BYTES", at_once)
        store.put(first.items())
        assert list(store.read()) == sorted(first.items())
        store.put(iter(second.items()))
    rows = sorted((first | second).items())
    assert list(store.read()) == rows
    assert list(store.read(prefix)) == [row for row in rows if row[0].startswith(prefix)]
    assert store.size_bytes == sum(4 + len(frame) for _, frame in rows)
    assert store.path.exists() == bool(rows)
    store.remove()
    assert not store.path.exists()
    assert list(store.read()) == []


def test_readers_do_not_disturb_each_other(tmp_path):
    store = written(tmp_path)
    assert len(list(zip(store.read(), store.read(), strict=True))) == 3
    next(store.read())
    assert len(list(store.read())) == 3


def test_a_file_grows_beyond_its_first_map(tmp_path):
    store = SpillStore(tmp_path / "7.mdb")
    rows = [(bytes((n,)), bytes((n,)) * 700_000) for n in range(20)]
    store.put(rows)
    assert list(store.read()) == rows
    assert store.path.stat().st_size >= store.size_bytes == 20 * 700_004


def written(tmp_path):
    store = SpillStore(tmp_path / "7.mdb")
    store.put((bytes((n,)), word * 3000) for n, word in enumerate((b"one", b"two", b"three")))
    return store


def test_only_the_owner_may_read(tmp_path):
    before = os.umask(0)
    try:
        path = written(tmp_path).path
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.9999])
def test_truncated(tmp_path, share):
    store = written(tmp_path)
    os.truncate(store.path, int(share * store.path.stat().st_size))
    with pytest.raises(SpillError) as caught:
        list(store.read())
    assert f"the spill file {store.path} is damaged" in caught.value.problem
    assert caught.value.code == "SPILL"
    with pytest.raises(SpillError, match="is damaged"):
        store.put([(b"more", b"")])


def test_truncated_while_it_is_read(tmp_path):
    store = written(tmp_path)
    reading = store.read()
    next(reading)
    os.truncate(store.path, 0)
    with pytest.raises(SpillError, match="is damaged: it has 0 bytes of"):
        next(reading)


@pytest.mark.parametrize("word", [b"oneone", b"twotwo", b"threethree"])
def test_a_byte_that_changed(tmp_path, word):
    store = written(tmp_path)
    data = bytearray(store.path.read_bytes())
    data[data.index(word) + 1] ^= 4
    store.path.write_bytes(data)
    with pytest.raises(SpillError, match=r"7\.mdb is damaged: the checksum of row"):
        list(store.read())


def test_gone(tmp_path):
    store = written(tmp_path)
    store.path.unlink()
    with pytest.raises(SpillError, match=r"7\.mdb cannot be read: No such file"):
        list(store.read())


def test_no_directory(tmp_path):
    store = SpillStore(tmp_path / "missing" / "7.mdb")
    with pytest.raises(SpillError, match=r"7\.mdb cannot be written: No such file") as caught:
        store.put([(b"a", b"")])
    assert "Keep Spark's local directories" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("mdb_txn_commit: No space left on device", "No space left", "Free space there"),
        ("mdb_txn_commit: Input/output error", "Input/output", "Free space there"),
        ("x: Cannot allocate memory", "Cannot allocate", "spark.executor.pyspark.memory"),
        ("x: MDB_PANIC", "x: MDB_PANIC", "Check the disk"),
    ],
)
def test_what_lmdb_says(tmp_path, monkeypatch, text, reason, hint):
    store = written(tmp_path)

    def failing(*_):
        raise lmdb.Error(text)

    monkeypatch.setattr(spill_space, "_is_put", failing)
    with pytest.raises(SpillError, match=rf"7\.mdb cannot be written: {reason}") as caught:
        store.put([(b"x", b"")])
    assert hint in caught.value.hint


LIMITED = """
import resource, sys
from pathlib import Path
from penstock.errors import SpillError
from penstock.runtime.spill.spill_space import SpillStore
limit = int(sys.argv[3])
if sys.argv[2] == "RLIMIT_AS":  # what this process has already is not of the test
    limit += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(getattr(resource, sys.argv[2]), (limit,) * 2)
store = SpillStore(Path(sys.argv[1]))
try:
    store.put((n.to_bytes(4, "big"), bytes(100_000)) for n in range(20_000))
except SpillError as error:
    print(error.problem)
    print(error.hint)
"""


def put_with_limit(tmp_path, limit, value):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "7.mdb"), limit, str(value)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.splitlines()


def test_disk_full(tmp_path):
    # The size of a file is limited as that of a disk is, and needs no file system of its own.
    problem, hint = put_with_limit(tmp_path, "RLIMIT_FSIZE", 5_000_000)
    reasons = [os.strerror(number) for number in (errno.EFBIG, errno.EIO)]
    assert problem in [f"the spill file {tmp_path}/7.mdb cannot be written: {r}" for r in reasons]
    assert "spark.local.dir" in hint


def test_no_address_space(tmp_path):
    problem, hint = put_with_limit(tmp_path, "RLIMIT_AS", 200_000_000)
    assert "cannot be written: Cannot allocate memory" in problem
    assert "spark.executor.pyspark.memory" in hint
