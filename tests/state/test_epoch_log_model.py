"""Random epochs, merges, restarts and crashes against dictionaries.

It finds changes that are lost, doubled or read in another order, files that are removed although a log
needs them, and files that stay although nothing does. It cannot find what a power failure destroys: nothing
is made durable here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.errors import JobFailedError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.epoch_log import EpochLog
from penstock.state.log.log_merge import Merge
from tests.memory_store import MemoryStore
from tests.state.epoch_world import (
    PLACES,
    PUT_SUCCEEDS,
    Copies,
    content,
    contents_elsewhere,
    crash_at,
    files,
    run_task,
    small_limits,
    updated,
)

NAMES = [(1, 0), (1, 1), (2, 0)]
CHANGES = st.dictionaries(st.integers(0, 12), st.none() | st.integers(0, 99), max_size=10)
EPOCHS = st.dictionaries(st.sampled_from(NAMES), CHANGES)
INLINE = st.sampled_from([0, 100, 1 << 18])


class Epochs(RuleBasedStateMachine):
    """One driver after the other, with workers that keep copies."""

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        small_limits(self.patch)
        self.folder = tempfile.TemporaryDirectory()
        self.directory = self.place()
        self.log = EpochLog(self.directory)
        assert self.log.open() is None
        self.model: dict[tuple[int, int], dict[int, int]] = {}
        self.epoch = 0
        self.copies: Copies = {}
        self.merge: Merge | None = None

    def place(self) -> JobPath:
        return Path(self.folder.name) / "epochs"

    def teardown(self):
        self.restart()
        for _ in range(20):  # what nobody needs is removed some files at a time
            self.log.put(self.log.next_epoch, {}, [], b"")
        self.log.plan_merge()
        assert files(self.directory) == self.log._files
        assert self.contents() == self.model
        self.folder.cleanup()
        self.patch.undo()

    def contents(self):
        return {name: content(self.directory, self.log.view(name)) for name in self.model}

    def tasks(self, changes, inline_bytes):
        """Run the tasks of an epoch and return what they changed."""
        found = []
        for name, some in changes.items():
            backend = self.copies.setdefault(name, HashBackend())
            view = self.log.view(name)
            storage = run_task(self.directory, view, backend, some, inline_bytes=inline_bytes)
            found.append(storage.change(*name))
        return found

    def put(self, changes, inline_bytes):
        done = self.tasks(changes, inline_bytes)
        self.log.put(self.epoch, {"next": self.epoch}, done, b"%d" % self.epoch)

    def succeeded(self, changes):
        for name, some in changes.items():
            self.model[name] = updated(self.model.get(name, {}), some)
        self.epoch += 1

    @rule(changes=EPOCHS, inline_bytes=INLINE)
    def an_epoch(self, changes, inline_bytes):
        self.put(changes, inline_bytes)
        self.succeeded(changes)

    @rule(changes=EPOCHS, inline_bytes=INLINE)
    def an_epoch_without_record(self, changes, inline_bytes):
        self.tasks(changes, inline_bytes)

    @rule(name=st.sampled_from(NAMES))
    def another_worker(self, name):
        self.copies.pop(name, None)

    @precondition(lambda self: self.merge is None)
    @rule()
    def a_merge_begins(self):
        self.merge = self.log.plan_merge()
        if self.merge is not None:
            self.merge.write()

    @precondition(lambda self: self.merge is not None)
    @rule()
    def a_merge_is_adopted(self):
        assert self.merge is not None
        self.log.adopt(self.merge)
        self.merge = None

    @rule()
    def restart(self):
        """The merge that was planned before is adopted later, perhaps."""
        self.log = EpochLog(self.directory)
        record = self.log.open()
        assert (record is None) == (self.epoch == 0)
        if record is not None:
            epoch = self.epoch - 1
            assert (record.epoch, record.positions["next"]) == (epoch, epoch)
            assert record.outcome == b"%d" % epoch

    @rule()
    def open_again(self):
        self.log.open()

    @rule(
        changes=EPOCHS,
        inline_bytes=INLINE,
        place=st.sampled_from(PLACES),
        nth=st.integers(1, 3),
        killed=st.booleans(),
    )
    def a_crash(self, changes, inline_bytes, place, nth, killed):
        """Everything a driver does, until it fails somewhere or is through."""
        with crash_at(place, nth, killed=killed) as dead:
            try:
                self.log = EpochLog(self.directory)
                self.log.open()
                planned = self.log.plan_merge()
                if planned is not None:
                    planned.write()
                    self.log.adopt(planned)
                self.put(changes, inline_bytes)
            except JobFailedError:
                assert dead == [place]
        if not dead or place in PUT_SUCCEEDS:
            self.succeeded(changes)
        self.merge = None
        self.restart()

    @invariant()
    def everything_is_read_back(self):
        assert self.contents() == self.model
        if self.epoch:
            assert contents_elsewhere(self.directory) == (self.epoch - 1, self.model)
        assert files(self.directory) >= self.log._needed()


class StoredEpochs(Epochs):
    """The same in a store of objects."""

    def place(self) -> JobPath:
        return StoredPath(MemoryStore(), ObjectPath("jobs", "epochs"))


Epochs.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
StoredEpochs.TestCase.settings = Epochs.TestCase.settings
TestEpochs = Epochs.TestCase
TestStoredEpochs = StoredEpochs.TestCase
