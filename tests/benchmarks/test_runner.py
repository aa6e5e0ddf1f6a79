"""The runner with systems that do nothing: turns, failures, what is left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from benchmarks.measuring import system_process
from benchmarks.measuring.processes import members
from benchmarks.measuring.runner import BenchRequest, chosen_systems, run_program
from benchmarks.measuring.system_process import SystemProcess
from benchmarks.model.errors import BenchRequestError, SystemFailedError, SystemMissingError


def quiet(_line):
    pass


def run(program, say=quiet, **request):
    return run_program(program, BenchRequest(**request), say)


def test_rounds_take_turns(fake_program, fake_system, tmp_path):
    program = fake_program(fake_system("a"), fake_system("b", is_peer=True))
    result = run(program, rounds=3)
    assert (tmp_path / "journal").read_text().split() == ["a", "b"] * 3
    assert [(m.system.name, len(m.rounds)) for m in result.measurements] == [("a", 3), ("b", 3)]
    assert result.exit_status == 0
    assert result.skipped == []


def test_every_number_of_keys_is_a_case(fake_program, fake_system):
    result = run(fake_program(fake_system("a")), keys=(10, 20), rounds=1)
    assert [m.case.keys for m in result.measurements] == [10, 20]


def test_a_wrong_digest_makes_the_status_1(fake_program, fake_system):
    program = fake_program(fake_system("a"), fake_system("b", is_peer=True, digest="wrong"))
    result = run(program, rounds=1)
    assert [m.is_right for m in result.measurements] == [True, False]
    assert result.exit_status == 1
    assert result.ratios() == {}


def test_a_peer_that_is_missing_is_skipped_with_its_reason(fake_program, fake_system):
    def missing():
        raise SystemMissingError("no environment for it", hint="Make one.")

    said: list[str] = []
    program = fake_program(fake_system("a"), fake_system("b", is_peer=True, command=missing))
    result = run(program, said.append, rounds=1)
    assert [s.to_json() for s in result.skipped] == [
        {"system": "b", "keys": 10, "reason": "no environment for it", "is_failure": False}
    ]
    assert result.exit_status == 0
    assert "b is left out: no environment for it\nMake one." in said


@pytest.mark.parametrize("command", [["/no/such/program"], ["false"]])
def test_a_peer_that_does_not_start_is_skipped(fake_program, fake_system, command):
    peer = fake_system("b", is_peer=True, command=lambda: command)
    result = run(fake_program(fake_system("a"), peer), rounds=1)
    assert [s.system for s in result.skipped] == ["b"]
    assert result.exit_status == 0


def test_a_peer_is_skipped_above_its_number_of_keys(fake_program, fake_system):
    peer = fake_system("b", is_peer=True, max_keys=15)
    result = run(fake_program(fake_system("a"), peer), keys=(10, 20), rounds=1)
    assert [(s.system, s.keys) for s in result.skipped] == [("b", 20)]
    assert len(result.measurements) == 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"die": "2"}, "a ended with status 3 at 'round'"),
        ({"raise": "2"}, "a failed at 'round': no more"),
    ],
)
def test_one_of_ours_that_fails_makes_the_status_1(fake_program, fake_system, fault, reason):
    said: list[str] = []
    program = fake_program(fake_system("a", **fault), fake_system("b"))
    result = run(program, said.append, rounds=3)
    assert [(s.system, s.reason) for s in result.skipped] == [("a", reason)]
    assert [m.system.name for m in result.measurements] == ["b"]
    assert result.exit_status == 1
    assert any("last words" in line or "ValueError: no more" in line for line in said)


def test_a_peer_that_fails_does_not_change_the_status(fake_program, fake_system):
    program = fake_program(fake_system("a"), fake_system("b", is_peer=True, die="1"))
    assert run(program, rounds=2).exit_status == 0


def test_systems_are_chosen_by_kind(fake_program, fake_system):
    program = fake_program(
        fake_system("a"),
        fake_system("b", by_default=False),
        fake_system("p", is_peer=True),
        fake_system("q", is_peer=True, by_default=False),
    )

    def chosen(**request):
        return [system.name for system in chosen_systems(program, BenchRequest(**request))]

    assert chosen() == ["a", "p"]
    assert chosen(systems=["b"]) == ["b", "p"]
    assert chosen(peers=["q", "p"]) == ["a", "p", "q"]
    assert chosen(peers=["none"]) == ["a"]


@pytest.mark.parametrize(
    "request_", [{"peers": ["a"]}, {"systems": ["p"]}, {"options": {"weight": 1}}]
)
def test_unknown_names_are_refused(fake_program, fake_system, request_):
    program = fake_program(fake_system("a"), fake_system("p", is_peer=True))
    with pytest.raises(BenchRequestError) as caught:
        run(program, **request_)
    assert caught.value.code == "BENCH_REQUEST"


@pytest.fixture
def process(fake_system, tmp_path):
    (tmp_path / "work").mkdir()
    started = SystemProcess("a", fake_system("a").command(), tmp_path / "work", cores=1)
    started.ask(
        "start",
        specification={"name": "a", "options": {"child": "1"}, "spawned": started.spawned},
    )
    yield started
    started.close()


def states(pids):
    found = set()
    for pid in pids:
        text = Path(f"/proc/{pid}/stat").read_text()
        found.add(text.rpartition(")")[2].split()[0])
    return found


def test_a_system_and_its_children_have_no_more_cores_than_they_may_use(process):
    pids = members(process._process.pid)
    assert len(pids) == 2
    assert [len(os.sched_getaffinity(pid)) for pid in pids] == [1, 1]


def test_between_questions_a_system_and_its_children_are_stopped(process):
    pids = members(process._process.pid)
    assert len(pids) == 2
    until = time.monotonic() + 10
    while states(pids) != {"T"} and time.monotonic() < until:
        time.sleep(0.01)  # a signal takes effect when the process is next scheduled
    assert states(pids) == {"T"}
    assert "cold_seconds" in process.ask("warm_up")


def test_closing_ends_what_the_system_started(process):
    session = process._process.pid
    process.close()
    assert members(session) == []


def test_a_killed_system_is_reported(process):
    os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(SystemFailedError) as caught:
        process.ask("round")
    assert caught.value.code == "BENCH_SYSTEM_FAILED"


def test_a_system_that_hangs_is_killed_and_left_out(fake_program, fake_system, monkeypatch):
    monkeypatch.setattr(system_process, "LIMIT_SECONDS", 0.3)
    monkeypatch.setattr(system_process, "LIMIT_FACTOR", 0.0)
    program = fake_program(fake_system("a"), fake_system("b", is_peer=True, hang="2"))
    result = run(program, rounds=2)
    assert [(m.system.name, len(m.rounds)) for m in result.measurements] == [("a", 2)]
    (left_out,) = result.skipped
    assert left_out.reason == "b hangs at 'round', and was killed"
    assert result.exit_status == 0


def test_memory_of_the_driver_is_seen(process):
    process.ask("warm_up")
    peaks = process.peak_memory_bytes()
    assert peaks["driver"] > 1 << 20
    assert peaks["workers"] == 0
