"""The garbage collector stays out of the way, and cycles of user functions are freed all the same."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress

import pytest

from penstock.runtime.task import garbage_collection as collector
from penstock.runtime.task.garbage_collection import paused_for_micro_batch, rare_for_records


class Node:
    """Refers to itself."""

    held = b""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No full collection is due from what other tests of this process did."""
    monkeypatch.setattr(collector, "_growth", collector._Growth())
    monkeypatch.setattr(collector, "_tasks", 0)
    monkeypatch.setattr(collector, "_micro_batches", 0)
    yield
    gc.unfreeze()
    gc.enable()


def test_it_does_not_start_for_records_and_is_as_before_even_after_a_failure():
    before = gc.get_threshold()
    with suppress(KeyError), paused_for_micro_batch():
        most = gc.get_threshold()[0]
        assert most > 1_000_000
        with paused_for_micro_batch():
            pass
        assert gc.get_threshold()[0] == most
        raise KeyError
    assert gc.get_threshold() == before
    assert gc.isenabled()


def test_garbage_of_one_micro_batch_is_bounded(monkeypatch):
    monkeypatch.setattr(collector, "_MICRO_BATCH_THRESHOLDS", (1000, 1000, 1000))
    alive: weakref.WeakSet[Node] = weakref.WeakSet()
    with paused_for_micro_batch():
        for _ in range(20_000):
            alive.add(Node())
            assert len(alive) < 3000


def test_garbage_of_many_micro_batches_is_a_part_of_memory(monkeypatch):
    monkeypatch.setattr(collector, "_FULL_EVERY", 1 << 60)
    size = 4 << 20
    most = max(collector.resident_bytes() // 4, 32 << 20) // size + 20
    alive: list[weakref.ref[Node]] = []
    for _ in range(2 * most):
        with paused_for_micro_batch():
            node = Node()
            node.held = b"x" * size
            alive.append(weakref.ref(node))
            del node
        assert len([ref for ref in alive if ref() is not None]) <= most


def test_garbage_that_ends_in_later_tasks_is_a_part_of_memory(monkeypatch):
    monkeypatch.setattr(collector, "_FULL_EVERY", 1 << 60)
    size = 4 << 20
    held = b"x" * (256 << 20)  # so that a quarter is more than the slack below
    most = max(collector.resident_bytes() // 4, 32 << 20) // size + 20
    alive: list[weakref.ref[Node]] = []
    kept = None
    for _ in range(4 * most):
        with rare_for_records():
            node = kept = Node()
            node.held = b"x" * size
            alive.append(weakref.ref(node))
            del node
        gc.collect()  # as a worker of PySpark does after every task
        assert len([ref for ref in alive if ref() is not None]) <= most
    del kept, held


def test_one_that_was_off_stays_off():
    gc.disable()
    with paused_for_micro_batch():
        pass
    assert not gc.isenabled()


def test_cycles_are_freed_after_a_number_of_micro_batches(monkeypatch):
    monkeypatch.setattr(collector, "_FULL_EVERY", 4)
    alive = []
    for _ in range(4):
        with paused_for_micro_batch():
            node = Node()
            alive.append(weakref.ref(node))
            del node
    assert [ref() for ref in alive] == [None] * 4


def test_what_a_micro_batch_leaves_is_not_looked_at_again():
    before = gc.get_freeze_count()
    with paused_for_micro_batch():
        kept = [[number] for number in range(1000)]
    assert gc.get_freeze_count() >= before + len(kept)


def test_a_full_collection_that_is_due_looks_at_everything_and_the_next_task_does_not(monkeypatch):
    kept = [[number] for number in range(1000)]
    monkeypatch.setattr(collector._growth, "limit", 0)  # as if the process had grown
    with rare_for_records():
        assert gc.get_freeze_count() == 0
    with rare_for_records():
        assert gc.get_freeze_count() >= len(kept)


def test_what_was_there_before_a_task_is_not_looked_at_again():
    kept = [[number] for number in range(1000)]
    with rare_for_records():
        assert gc.get_freeze_count() >= len(kept)


def test_cycles_that_a_task_leaves_are_freed_by_the_collection_after_it():
    with rare_for_records():
        node = Node()
        alive = weakref.ref(node)
        del node
    gc.collect()
    assert alive() is None


def test_cycles_that_end_in_a_later_task_are_freed_after_a_number_of_tasks(monkeypatch):
    monkeypatch.setattr(collector, "_FULL_EVERY", 4)
    node = Node()
    alive = weakref.ref(node)
    for task in range(4):
        with rare_for_records():
            if task == 1:
                del node
        gc.collect()
    assert alive() is None


def test_thresholds_are_given_back():
    before = gc.get_threshold()
    with rare_for_records():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
