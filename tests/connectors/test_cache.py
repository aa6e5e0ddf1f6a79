"""Cache files: blocks, epochs, and what goes wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors.cache import BLOCK_RECORDS, CacheSink, CacheSource, take_files
from penstock.errors import SinkError, SourceError
from penstock.graph.endpoints import SinkContext
from penstock.types import Types

UNTYPED = Types.PICKLED_BYTE_ARRAY()


def context(directory, subtask=0):
    return SinkContext("job", "sink", subtask, UNTYPED, "cache", None, directory)


def prepared(directory, values, subtask=0):
    writer = CacheSink(str(directory)).create_writer(context(directory, subtask))
    for value in values:
        writer.write([value])
    return writer.prepare_commit()


def committed(directory, *epochs):
    committer = CacheSink(str(directory)).create_committer(context(directory))
    committer.recover()
    for epoch, handles in epochs:
        committer.commit(epoch, handles)
    return take_files(str(directory))


def test_records_are_cut_into_blocks(tmp_path):
    (file,) = prepared(tmp_path, range(BLOCK_RECORDS + 1))
    assert file.record_count == BLOCK_RECORDS + 1
    assert len(file.offsets) == 2
    source = CacheSource(0, UNTYPED, (file,))
    assert source.read(0, BLOCK_RECORDS - 1, BLOCK_RECORDS + 1) == [
        BLOCK_RECORDS - 1,
        BLOCK_RECORDS,
    ]
    assert source.read(0, BLOCK_RECORDS, BLOCK_RECORDS) == []


def test_without_records_there_is_no_file(tmp_path):
    assert prepared(tmp_path, []) == []
    assert list(tmp_path.iterdir()) == []
    assert CacheSource(0, UNTYPED, ()).splits(2) == [(0, 0)]


def test_an_aborted_file_is_removed(tmp_path):
    writer = CacheSink(str(tmp_path)).create_writer(context(tmp_path))
    writer.write(list(range(BLOCK_RECORDS)))
    assert len(list(tmp_path.iterdir())) == 1
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_recover_drops_what_nobody_committed(tmp_path):
    prepared(tmp_path, [1])
    assert committed(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_files_come_by_epoch_and_subtask(tmp_path):
    committer = CacheSink(str(tmp_path)).create_committer(context(tmp_path))
    committer.recover()
    later, earlier = prepared(tmp_path, ["b"], 1), prepared(tmp_path, ["a"], 0)
    committer.commit("1", later + earlier)
    committer.commit("2", prepared(tmp_path, ["c"]))
    source = CacheSource(0, UNTYPED, take_files(str(tmp_path)))
    assert [source.read(split, 0, 1) for split in range(3)] == [["a"], ["b"], ["c"]]
    assert take_files(str(tmp_path)) == ()


def test_a_repeated_epoch_is_dropped(tmp_path):
    committer = CacheSink(str(tmp_path)).create_committer(context(tmp_path))
    committer.recover()
    committer.commit("1", prepared(tmp_path, ["a"]))
    committer.commit("1", prepared(tmp_path, ["again"]))
    (file,) = take_files(str(tmp_path))
    assert list(tmp_path.iterdir()) == [file.path]
    assert CacheSource(0, UNTYPED, (file,)).read(0, 0, 1) == ["a"]


def test_a_record_that_cannot_be_pickled_is_named(tmp_path):
    with pytest.raises(SinkError, match="cannot be cached") as caught:
        prepared(tmp_path, [lambda: None])
    assert caught.value.code == "SINK"


def test_a_lost_file_is_an_error(tmp_path):
    (file,) = prepared(tmp_path, [1])
    Path(file.path).unlink()
    with pytest.raises(SourceError, match="cannot be read from") as caught:
        CacheSource(0, UNTYPED, (file,)).read(0, 0, 1)
    assert caught.value.code == "SOURCE"
