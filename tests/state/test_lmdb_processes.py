"""An LMDB copy that processes share: at once, killed half way, with logs of different age."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import ChangeLog
from penstock.testing.live_run import MemoryLog
from tests.state.lmdb_workers import GROUPS, VALUE, TimedWorker, copy_of, values_of

# Runs in a process of its own. Arguments: directory, file of pickled logs, and then which of the
# logs to catch up with, in turn. Prints how good the copy was and a digest of what it says.
CHILD = """
import pickle, sys
from pathlib import Path
from penstock.common import Types
from penstock.errors import StateError
from penstock.state.backends.lmdb import writer as lmdb_writer
from penstock.state.log.change_log import ChangeLog
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.backends.lmdb.format import group_prefix
from penstock.state.schema.entry_schema import StateKind, StateSchema

lmdb_writer._ENTRIES_PER_TRANSACTION = 1
logs = pickle.loads(Path(sys.argv[2]).read_bytes())
backend = LmdbBackend(Path(sys.argv[1]), "job")
table = backend.table("op", "value", StateSchema(StateKind.VALUE, Types.PICKLED_BYTE_ARRAY()))
timers = backend.timers("op", "timers")

def values_of(table):
    return {key: table[group].get(key) for group in table.groups() for key in table[group].keys()}

print("ready", flush=True)
sys.stdin.readline()
turns = list(map(int, sys.argv[3:]))
while turns:
    turn = turns[0]
    log = ChangeLog(logs[turn])
    use = backend.catch_up(log)
    try:
        found = values_of(table)
    except StateError as error:
        # Another process has gone on: here every process is a zombie now and then.
        assert "later attempt" in error.problem, error
        backend.discard()
        continue
    turns.pop(0)
    due = []
    while (timer := timers.pop_due(10**6)) is not None:
        due.append(timer)
    print(turn, use.name, sorted(found.items()), due, sep="\\t", flush=True)
    position = log.position()
    if position is not None:
        backend.written(position)
backend.close()
"""


def start_child(directory, logs_file, *turns, failpoint=None, marker=None):
    env = os.environ | {"PYTHONPATH": str(Path(penstock.__file__).parent.parent)}
    if failpoint is not None:
        env |= {"PENSTOCK_FAILPOINT": failpoint, "PENSTOCK_FAILPOINT_MARKER": str(marker)}
    command = [sys.executable, "-c", CHILD, str(directory), str(logs_file), *map(str, turns)]
    return subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def expected_of(storage):
    """Return what a child prints of a log, from the hash-map backend."""
    backend = HashBackend()
    table = backend.table("op", "value", VALUE)
    timers = backend.timers("op", "timers")
    backend.catch_up(ChangeLog(storage))
    due = []
    while (timer := timers.pop_due(10**6)) is not None:
        due.append(timer)
    return str(sorted(values_of(table).items())), sorted(due)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "copy"


@pytest.fixture
def storage():
    return MemoryLog()


@pytest.fixture
def worker(directory, storage):
    return TimedWorker(directory, storage)


class TestProcesses:
    @pytest.fixture
    def logs(self, worker, storage):
        """Return the log after each of some micro-batches."""
        logs = []
        for number in range(12):
            worker.begin()
            worker.put(**{f"k{(number * 5 + i) % 16}": number * 10 + i for i in range(6)})
            worker.value[GROUPS[f"k{number}"]].remove(f"k{number}")
            worker.end()
            logs.append(copy_of(storage))
        worker.backend.close()
        shutil.rmtree(worker.directory)
        return logs

    @pytest.fixture
    def logs_file(self, tmp_path, logs):
        path = tmp_path / "logs"
        path.write_bytes(pickle.dumps(logs))
        return path

    def check(self, child, logs):
        out, err = child.communicate("go\n", timeout=120)
        assert child.returncode == 0, err
        for line in (lines := out.removeprefix("ready\n").splitlines()):
            turn, _, values, due = line.split("\t")
            expected, timers = expected_of(logs[int(turn)])
            assert values == expected
            assert sorted(eval(due)) == timers  # noqa: S307
        return [line.split("\t")[1] for line in lines]

    def test_processes_that_take_turns_share_one_copy(self, directory, logs, logs_file):
        assert self.check(start_child(directory, logs_file, 0), logs) == ["HIT"]
        for turn in range(1, 4):
            assert self.check(start_child(directory, logs_file, turn), logs) == ["HIT"]

    def test_processes_at_once_with_logs_of_different_age_never_mix(
        self, directory, logs, logs_file
    ):
        chance = random.Random(1)  # noqa: S311 - the same turns at every run
        turns = [sorted(chance.choices(range(12), k=40)) for _ in range(3)]
        chance.shuffle(turns[0])
        children = [start_child(directory, logs_file, *some) for some in turns]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            assert len(self.check(child, logs)) == 40

    @pytest.mark.parametrize(
        ("failpoint", "uses"),
        [
            ("lmdb-in-transaction:1:kill", "CATCH_UP"),
            ("lmdb-in-transaction:2:kill", "CATCH_UP"),
            ("lmdb-between-transactions:1:kill", "CATCH_UP"),
            ("lmdb-between-transactions:3:kill", "CATCH_UP"),
        ],
    )
    def test_a_process_killed_while_it_catches_up_does_no_harm(
        self, tmp_path, directory, logs, logs_file, failpoint, uses
    ):
        self.check(start_child(directory, logs_file, 3), logs)
        self.kill(tmp_path, directory, logs_file, 8, failpoint)
        assert self.check(start_child(directory, logs_file, 8, 9), logs) == [uses, "HIT"]

    @pytest.mark.parametrize(
        "failpoint", ["lmdb-in-transaction:2:kill", "lmdb-between-transactions:2:kill"]
    )
    def test_a_copy_half_built_by_a_killed_process_is_built_anew(
        self, tmp_path, directory, logs, logs_file, failpoint
    ):
        self.kill(tmp_path, directory, logs_file, 8, failpoint)
        assert self.check(start_child(directory, logs_file, 8, 9), logs) == ["REBUILD", "HIT"]

    def test_a_copy_left_half_way_to_another_log_is_built_anew(
        self, tmp_path, directory, logs, logs_file, storage
    ):
        self.check(start_child(directory, logs_file, 3), logs)
        self.kill(tmp_path, directory, logs_file, 8, "lmdb-between-transactions:2:kill")
        other = TimedWorker(directory, copy_of(logs[3]))
        for number in range(20):
            other.storage = copy_of(other.storage)
            other.batch(k=number)
        assert str(sorted(other.read()[1].items())) == expected_of(other.storage)[0]

    def test_a_process_killed_with_the_file_open_here_does_no_harm(
        self, tmp_path, directory, logs, logs_file
    ):
        here = TimedWorker(directory, logs[3])
        here.begin()
        before = values_of(here.value)
        self.kill(tmp_path, directory, logs_file, 8, "lmdb-in-transaction:2:kill")
        assert values_of(here.value) == before
        here.storage = logs[8]
        assert str(sorted(here.read()[1].items())) == expected_of(logs[8])[0]

    def kill(self, tmp_path, directory, logs_file, turn, failpoint):
        marker = tmp_path / "marker"
        child = start_child(directory, logs_file, turn, failpoint=failpoint, marker=marker)
        child.communicate("go\n", timeout=60)
        assert child.returncode == -signal.SIGKILL
        assert marker.read_text() == f"{failpoint}\n{child.pid}\n"

    def test_a_process_killed_while_it_reads_does_not_keep_pages(
        self, tmp_path, directory, logs, logs_file
    ):
        here = TimedWorker(directory, copy_of(logs[3]))
        here.read()
        script = CHILD.replace("    print(", "    import os; os.kill(os.getpid(), 9)\n    print(")
        reader = subprocess.run(
            [sys.executable, "-c", script, str(directory), str(logs_file), "3"],
            env=os.environ | {"PYTHONPATH": str(Path(penstock.__file__).parent.parent)},
            input=b"go\n",
            check=False,
        )
        assert reader.returncode == -signal.SIGKILL
        for number in range(40):
            here.batch(**{f"k{i}": number for i in range(16)})
        size = (directory / "copy" / "data.mdb").stat().st_size
        for number in range(40):
            here.batch(**{f"k{i}": number for i in range(16)})
        grown = (directory / "copy" / "data.mdb").stat().st_size - size
        assert grown <= 4 * 4096

    def test_a_forked_process_opens_a_copy_of_its_own(self, directory, storage, worker):
        worker.batch(a=1)
        worker.read()
        pid = os.fork()
        if pid == 0:
            is_right = False
            try:
                forked = TimedWorker(directory, storage)
                is_right = forked.read()[1] == {"a": 1}
            finally:
                os._exit(0 if is_right else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert worker.read()[1] == {"a": 1}
