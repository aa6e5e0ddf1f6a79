"""A changed program that reads the history of files again, and is started again after a failure at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock import failpoint
from penstock.api.environment.job import JobClient
from penstock.cli.job_observer import JobObserver
from penstock.common import Types, WatermarkStrategy
from penstock.config import set_process_overrides
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, KeptOutside
from penstock.errors import EvolutionError, PenstockError, SourceError
from penstock.graph.endpoints import SinkContext
from penstock.observe.events.job_events import (
    JobEvent,
    JobStarted,
    RoundFinished,
    RoundProgress,
)
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.plan.phases.backlog import decide_cuts
from penstock.plan.physical import PhysicalPlan
from penstock.spark import job_client
from penstock.spark.job.later_parallelism import ParallelismRequest, recorded_parallelism
from penstock.spark.job_client import SparkJobClient
from penstock.spark.upgrade import program_part
from penstock.spark.upgrade.rounds import Rounds
from tests.spark.conftest import Environment
from tests.spark.waiting import wait_for

KEYS = 4
PER_FILE = 10
STEPS = (
    "batch.pinned",
    "batch.staged",
    "batch.committed",
    "bootstrap.read",
    "bootstrap.state",
    "bootstrap.merged",
    "restore.copied",
    "restore.recorded",
)


def write(directory: Path, number: int) -> None:
    directory.mkdir(exist_ok=True)
    lines = (f"k{n % KEYS}" for n in range(number * PER_FILE, (number + 1) * PER_FILE))
    staged = directory.parent / f"staged-{number}"
    staged.write_text("".join(f"{line}\n" for line in lines))
    staged.rename(directory / f"{number}.txt")


def counts_job(
    env: StreamExecutionEnvironment, base: Path, *, step: int = 1, has_new: bool = False
) -> JobClient:
    """Start the job: counts of a key, and with `has_new` how often each count occurred."""
    live = FileSource.text(str(base / "live")).monitor_continuously()
    files = HybridSource.builder(FileSource.text(str(base / "old"))).add_source(live).build()
    lines = env.from_source(files, WatermarkStrategy.no_watermarks(), "files").uid("files")
    pairs = lines.map(lambda line: (line, step)).uid("pairs")
    counts = pairs.key_by(lambda r: r[0]).sum(1).uid("counts")
    texts = counts.map(lambda r: f"{r[0]} {r[1]}", Types.STRING()).uid("texts")
    texts.sink_to(FileSink.text(base / "out")).uid("out")
    if has_new:
        ones = counts.map(lambda r: (r[1], 1)).uid("ones")
        often = ones.key_by(lambda r: r[0]).sum(1).uid("often")
        shown = often.map(lambda r: f"{r[0]} x {r[1]}", Types.STRING()).uid("shown")
        shown.sink_to(FileSink.text(base / "new")).uid("new")
    return env.execute_async("counts")


def written(directory: Path) -> Counter[str]:
    found = directory.glob("*.txt")
    return Counter(line for path in found for line in path.read_text().splitlines())


def counts(files: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for n in range(files * PER_FILE):
        seen[f"k{n % KEYS}"] += 1
        made[f"k{n % KEYS} {seen[f'k{n % KEYS}']}"] += 1
    return made


def often(files: int) -> Counter[str]:
    times = Counter(int(line.split()[1]) for line in counts(files).elements())
    return Counter(f"{count} x {n + 1}" for count, total in times.items() for n in range(total))


@pytest.fixture
def stopped(environment: Environment, tmp_path: Path) -> str:
    """Return the savepoint of a job that has read three files of history and two live ones."""
    for number in range(5):
        write(tmp_path / ("old" if number < 3 else "live"), number)
    client = counts_job(environment("mixed"), tmp_path)
    wait_for(client, lambda: written(tmp_path / "out") == counts(5))
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    client.get_job_execution_result().result()
    write(tmp_path / "live", 5)
    return savepoint


def settings(tmp_path: Path, savepoint: str, evolution: str) -> dict[str, Any]:
    return {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
        "execution.evolution": evolution,
    }


@pytest.fixture
def command_line() -> Iterator[Callable[[dict[str, Any]], None]]:
    """Return what sets the values of the command line, as `penstock upgrade` does."""
    yield lambda values: set_process_overrides("cli", values)
    set_process_overrides("cli", {})


def again(environment: Environment, tmp_path: Path) -> JobClient:
    """Start the changed program, whose failpoints count anew."""
    failpoint.count_anew()
    return counts_job(environment("mixed"), tmp_path, has_new=True)


def test_new_operators_join_after_failures_at_each_step(
    environment, tmp_path, stopped, monkeypatch, command_line
):
    with pytest.raises(EvolutionError, match=r"new: operator map \(uid ones\)") as refused:
        counts_job(
            environment("mixed", **settings(tmp_path, stopped, "ask")), tmp_path, has_new=True
        )
    assert "new: sink" in refused.value.problem
    assert not (tmp_path / "second").exists()
    markers = tmp_path / "markers"
    markers.mkdir()
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(f"{step}:1:raise" for step in STEPS))
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))
    command_line(settings(tmp_path, stopped, "allow"))
    for step in STEPS:
        with pytest.raises(PenstockError, match="failpoint"):
            again(environment, tmp_path)
        if step in {"bootstrap.merged", "restore.copied"}:
            view = JobObserver.at(tmp_path / "second").view()
            assert (view.state, len(view.rounds.views)) == ("FAILED", 1)
            assert step in view.error["problem"]
    client = again(environment, tmp_path)
    assert {path.name for path in markers.iterdir()} == {f"{step}:1:raise" for step in STEPS}
    wait_for(client, lambda: written(tmp_path / "new") >= often(6))
    client.cancel()
    assert written(tmp_path / "out") == counts(6)
    assert written(tmp_path / "new") == often(6)
    assert not (tmp_path / "second" / "bootstrap").exists()


def test_a_start_that_fails_behind_the_rounds_does_not_write_the_history_again(
    environment, tmp_path, stopped, monkeypatch, command_line
):
    command_line(settings(tmp_path, stopped, "allow"))
    decided: list[PhysicalPlan] = []

    def refuse(plan: PhysicalPlan) -> Any:
        """Fail once, in the job that begins with what the rounds have read."""
        decided.append(plan)
        if len(decided) == 2:
            raise SourceError("the source is away", hint="Wait.").permanent()
        return decide_cuts(plan)

    monkeypatch.setattr(job_client, "decide_cuts", refuse)
    with pytest.raises(SourceError, match="the source is away"):
        again(environment, tmp_path).get_job_execution_result().result()
    view = JobObserver.at(tmp_path / "second").view()
    assert (view.state, view.error["problem"]) == ("FAILED", "the source is away")
    client = again(environment, tmp_path)
    wait_for(client, lambda: written(tmp_path / "new") >= often(6))
    client.cancel()
    assert written(tmp_path / "out") == counts(6)
    assert written(tmp_path / "new") == often(6)


class RescaledReading(SparkJobClient):
    """A job that reads the history, and finds a request for another parallelism at its first epoch."""

    refusals: ClassVar[list[PenstockError]] = []

    def start(self, begun: JobStarted | None) -> None:
        ParallelismRequest(self._directory.path).submit(3)
        super().start(begun)

    def _rescale(self) -> None:
        super()._rescale()
        refusal = ParallelismRequest(self._directory.path).refusal()
        assert refusal is not None
        self.refusals.append(refusal)


@pytest.fixture
def forgotten(monkeypatch) -> list[str]:
    """Return the ids of jobs whose sinks have dropped what they keep in other systems."""
    ids: list[str] = []

    def kept_outside(_: FileSink, context: SinkContext) -> list[KeptOutside]:
        return [KeptOutside("a mark", lambda: ids.append(context.job_id))]

    monkeypatch.setattr(FileSink, "kept_outside", kept_outside)
    return ids


def test_rounds_follow_a_running_job_which_stops_before_the_last(
    environment, tmp_path, monkeypatch, forgotten
):
    for number in range(5):
        write(tmp_path / ("old" if number < 3 else "live"), number)
    first = counts_job(environment("mixed"), tmp_path)
    wait_for(first, lambda: written(tmp_path / "out") == counts(5))
    rounds: list[tuple[str, int]] = []
    chosen = Rounds.target

    def target(self: Rounds, path: Any) -> Any:
        """Let the job read one more file before each of the first rounds."""
        if len(rounds) < 3:
            files = 5 + len(rounds)
            write(tmp_path / "live", files)
            wait_for(first, lambda: written(tmp_path / "out") == counts(files + 1))
        rounds.append((path.name, sum(written(tmp_path / "new").values())))
        self.limit_seconds = 0.0 if len(rounds) < 4 else 60.0
        return chosen(self, path)

    monkeypatch.setattr(Rounds, "target", target)
    monkeypatch.setattr(program_part, "SparkJobClient", RescaledReading)
    now = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.evolution.from-job": str(tmp_path / "job"),
        "execution.evolution": "allow",
    }
    told: list[JobEvent] = []
    listener = JobListener()
    monkeypatch.setattr(listener, "on_event", told.append)
    with also_listening(listener):
        second = counts_job(environment("mixed", **now), tmp_path, has_new=True)
    first.get_job_execution_result().result()
    read = [each for each in told if isinstance(each, RoundFinished)]
    assert [each.kind for each in read] == ["batch", *["live"] * (len(read) - 1)]
    # the job reads one file more in each of the first rounds, and none later
    assert [each.records for each in read] == [60, 10, 10, *[0] * (len(read) - 3)]
    assert {each.job_id for each in told if isinstance(each, RoundProgress)} == {
        second.get_job_id()
    }
    assert len({*forgotten}) == len(read), "the marks of each round"
    assert [each.is_last for each in read] == [*[False] * (len(read) - 1), True]
    assert [name for name, _ in rounds[:3]] == ["round-0", "round-1", "round-2"]
    assert [count for _, count in rounds[:3]] == [0, 6 * PER_FILE, 7 * PER_FILE]
    write(tmp_path / "live", 8)
    wait_for(second, lambda: written(tmp_path / "new") >= often(9))
    second.cancel()
    assert written(tmp_path / "out") == counts(9)
    assert written(tmp_path / "new") == often(9)
    assert not (tmp_path / "second" / "bootstrap").exists()
    assert len(RescaledReading.refusals) >= 2, "those of live runs"
    assert {refused.hint for refused in RescaledReading.refusals} == {
        "Rescale the other job when it runs."
    }
    assert recorded_parallelism(tmp_path / "second") is None


def test_a_changed_function_makes_its_state_anew_and_writes_from_now_on(
    environment, tmp_path, stopped
):
    env = environment("mixed", **settings(tmp_path, stopped, "allow"))
    client = counts_job(env, tmp_path, step=2)
    added = Counter({f"{k} {2 * int(n)}": 1 for k, n in map(str.split, counts(6) - counts(5))})
    wait_for(client, lambda: written(tmp_path / "out") - counts(5) == added)
    client.cancel()
    assert written(tmp_path / "out") == counts(5) + added


def test_history_that_changed_is_refused_and_leaves_no_directory(environment, tmp_path, stopped):
    (tmp_path / "old" / "1.txt").write_text("another\n")
    env = environment("mixed", **settings(tmp_path, stopped, "allow"))
    with pytest.raises(PenstockError, match=r"1\.txt changed"):
        counts_job(env, tmp_path, has_new=True)
    assert not (tmp_path / "second").exists()
    assert not written(tmp_path / "new")


def test_a_restart_with_a_changed_function_is_refused_unless_it_keeps_state(environment, tmp_path):
    write(tmp_path / "old", 0)
    (tmp_path / "live").mkdir()
    client = counts_job(environment("mixed"), tmp_path)
    wait_for(client, lambda: written(tmp_path / "out") == counts(1))
    client.cancel()
    with pytest.raises(EvolutionError, match=r"map \(uid pairs\): its function differs"):
        counts_job(environment("mixed", **{"execution.evolution": "ask"}), tmp_path, step=5)
    write(tmp_path / "live", 1)
    client = counts_job(environment("mixed"), tmp_path, step=5)
    wait_for(client, lambda: sum(written(tmp_path / "out").values()) == 2 * PER_FILE)
    client.cancel()
