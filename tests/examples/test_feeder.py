"""The feeder: files appear complete and in order, the first at once, the rest when told."""

from __future__ import annotations

from threading import Event

from examples.demo.feeder import Feeder


def files(directory, *names):
    directory.mkdir()
    for name in names:
        (directory / name).write_text(name)
    return sorted(directory.iterdir())


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def make(tmp_path, **settings):
    target = tmp_path / "live"
    target.mkdir(exist_ok=True)
    given = files(tmp_path / "feed", "1.parquet", "2.parquet", "3.parquet")
    return Feeder(given, target, seconds_per_step=0.0, **settings), target


def test_the_first_step_is_there_at_once_and_the_rest_after_the_signal(tmp_path):
    feeder, target = make(tmp_path, files_per_step=2)
    signal = Event()
    feeder.start(signal)
    assert names(target) == ["1.parquet", "2.parquet"]
    signal.set()
    feeder._thread.join(timeout=10)
    assert {path.name: path.read_text() for path in target.iterdir()} == {
        name: name for name in ("1.parquet", "2.parquet", "3.parquet")
    }
    assert names(tmp_path / "feed") == ["1.parquet", "2.parquet", "3.parquet"]
    assert feeder.error is None


def test_stop_before_the_signal_delivers_no_more(tmp_path):
    feeder, target = make(tmp_path, files_per_step=1)
    feeder.start(Event())
    feeder.stop()
    assert names(target) == ["1.parquet"]


def test_stop_before_the_start_is_harmless(tmp_path):
    feeder, target = make(tmp_path)
    feeder.stop()
    assert names(target) == []
    assert feeder.error is None


def test_a_file_that_cannot_be_delivered_is_reported(tmp_path):
    feeder, _ = make(tmp_path, files_per_step=1)
    signal = Event()
    feeder.start(signal)
    (tmp_path / "feed" / "2.parquet").unlink()
    signal.set()
    feeder._thread.join(timeout=10)
    assert isinstance(feeder.error, FileNotFoundError)
