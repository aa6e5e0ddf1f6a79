"""The garbage collector stays out of the way, and cycles of user functions are freed all the same."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress

import pytest

from penstock.runtime import collector
from penstock.runtime.collector import paused_for_micro_batch, rare_for_records


class Node:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _as_before():
    yield
    gc.unfreeze()
    gc.enable()


def test_it_is_off_inside_and_on_again_even_after_a_failure():
    with suppress(KeyError), paused_for_micro_batch():
        assert not gc.isenabled()
        with paused_for_micro_batch():
            pass
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_one_that_was_off_stays_off():
    gc.disable()
    with paused_for_micro_batch():
        pass
    assert not gc.isenabled()


def test_cycles_are_freed_after_a_number_of_micro_batches(monkeypatch):
    monkeypatch.setattr(collector, "_FULL_EVERY", 4)
    monkeypatch.setattr(collector, "_micro_batches", 0)
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
    monkeypatch.setattr(collector, "_tasks", 0)
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
