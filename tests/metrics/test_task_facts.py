"""What is known of subtasks, state and sinks: sums of the reports of tasks."""

from __future__ import annotations

import pickle

from penstock.metrics.task_facts import CommitCost, TaskFacts
from penstock.runtime.task.report import Report


def task(subtask: int | None, **received: int) -> Report:
    return Report(operator_records=received, subtask=subtask)


def test_records_of_subtasks_come_through_any_order_of_merging() -> None:
    reports = [task(0, map=3, sums=1), task(1, map=5), task(0, map=2), task(None, map=7)]
    one = Report()
    for report in reports:
        one.merge(report)
    left, right = Report(), Report()  # as of two tasks of the sink stage
    for report in reports[:2]:
        left.merge(report)
    for report in reports[2:]:
        right.merge(report)
    other = Report()
    other.merge(pickle.loads(pickle.dumps(left)))
    other.merge(right)
    assert one.subtask_records == other.subtask_records == {"map": {0: 5, 1: 5}, "sums": {0: 1}}
    assert one.operator_records == other.operator_records == {"map": 17, "sums": 1}


def test_what_else_is_known_is_merged() -> None:
    one = Report(
        split_watermarks={1: {0: 5}},
        state_keys={"sums": {0: 7}},
        state_log_bytes={(1, 0): 100},
        state_written={"sums": 10},
        sink_records={0: 3},
        commits={0: CommitCost(1, 5)},
    )
    one.merge(
        Report(
            split_watermarks={1: {0: 6, 1: 2}},
            state_keys={"sums": {1: 9}},
            state_log_bytes={(1, 0): 90, (1, 1): 10},
            state_written={"sums": 1, "other": 2},
            sink_records={0: 4},
            commits={0: CommitCost(1, 5, 2, 100)},
        )
    )
    assert one.split_watermarks == {1: {0: 6, 1: 2}}
    assert one.state_keys == {"sums": {0: 7, 1: 9}}
    assert one.state_log_bytes == {(1, 0): 90, (1, 1): 10}
    assert one.state_written == {"sums": 11, "other": 2}
    assert one.sink_records == {0: 7}
    assert one.commits == {0: CommitCost(2, 10, 2, 100)}


def test_a_report_of_an_earlier_version_has_no_facts() -> None:
    old = Report.__new__(Report)
    old.__setstate__((None, {"source_records": {0: 3}}))
    assert old == Report(source_records={0: 3})


def test_another_run_begins_its_subtasks_anew() -> None:
    facts = TaskFacts()
    facts.add_records(0, {"sums": {0: 5, 2: 7}})
    facts.add_records(0, {"sums": {0: 1}})
    assert facts.facts().subtasks == {"sums": (6, 0, 7)}
    facts.add_records(1, {"sums": {1: 3}})
    assert facts.facts().subtasks == {"sums": (0, 3)}


def test_the_log_of_a_level_is_divided_by_what_its_operators_wrote() -> None:
    facts = TaskFacts()
    levels = {"sums": 1, "joins": 1, "windows": 2}
    facts.add_state({"sums": {0: 2}}, {(1, 0): 600, (2, 0): 50}, {"sums": 30, "windows": 5}, levels)
    facts.add_state({"sums": {1: 3}}, {(1, 1): 200}, {"joins": 10}, levels)
    known = facts.facts()
    assert known.state_bytes == {"sums": 600, "joins": 200, "windows": 50}
    assert known.state_keys == {"sums": 5}
    facts.add_state({"sums": {1: 1}}, {(1, 0): 200}, {}, levels)
    assert facts.facts().state_bytes == {"sums": 300, "joins": 100, "windows": 50}
    assert facts.facts().state_keys == {"sums": 3}


def test_keys_are_shown_if_every_subtask_has_counted_them() -> None:
    facts = TaskFacts()
    facts.add_state({"sums": {0: 1, 1: None}}, {}, {}, {})
    assert facts.facts().state_keys == {}
    facts.add_state({"sums": {1: 2}}, {}, {}, {})
    assert facts.facts().state_keys == {"sums": 3}


def test_subtasks_that_are_gone_after_a_rescaling_do_not_count() -> None:
    facts = TaskFacts()
    facts.add_records(0, {"sums": {0: 5, 1: 7}})
    facts.add_state({"sums": {0: 1, 1: 2}}, {(1, 0): 60, (1, 1): 40}, {"sums": 30}, {"sums": 1})
    facts.forget_subtasks()
    facts.add_records(0, {"sums": {0: 1}})
    facts.add_state({"sums": {0: 3}}, {(1, 0): 90}, {}, {})
    known = facts.facts()
    assert known.subtasks == {"sums": (1,)}
    assert (known.state_keys, known.state_bytes) == ({"sums": 3}, {"sums": 90})


def test_sinks_have_files_if_they_know_them() -> None:
    facts = TaskFacts()
    facts.add_sinks({"files": 10, "rows": 4}, {"files": CommitCost(1, 500_000_000, 2, 99)})
    facts.add_sinks({"files": 5}, {"files": CommitCost(1, 500_000_000, 1, 1)})
    assert facts.facts().sinks == {
        "files": {"records": 15, "commits": 2, "seconds": 1.0, "files": 3, "bytes": 100},
        "rows": {"records": 4, "commits": 0, "seconds": 0.0},
    }
