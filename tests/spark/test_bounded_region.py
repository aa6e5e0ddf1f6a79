"""A bounded region is run once, whatever happens to the job behind it."""

from __future__ import annotations

from pathlib import Path

from penstock.observe.events.job_events import JobEvent, Restarting, RunStarted
from penstock.observe.events.listeners import JobListener, also_listening
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs import enriched
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

SMALL = {"execution.live.max-records-per-batch": 40}


class Runs(JobListener):
    """What was started: runs by name, and the job again by the place it failed at."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, RunStarted):
            self.started.append(event.name)
        elif isinstance(event, Restarting):
            self.started.append("again")


def test_a_savepoint_behind_a_bounded_region_has_its_results(
    environment: Environment, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    env = environment("mixed", **SMALL)
    enriched.build(env, out)
    client = env.execute_async("enriched")
    wait_for(client, lambda: bool(written(out)))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    assert 0 < written(out).total() < enriched.LIVE

    env = environment(
        "mixed",
        **SMALL,
        **{
            "execution.checkpointing.dir": str(tmp_path / "second"),
            "execution.state-recovery.path": savepoint,
            "parallelism.default": 1,
        },
    )
    enriched.build(env, out)
    runs = Runs()
    with also_listening(runs):
        env.execute("enriched")
    assert runs.started == ["live"]
    assert enriched.answer(written(out)) == enriched.expected()


# FLIP-331, rule 8.
def test_a_job_that_fails_in_a_bounded_region_and_behind_it_goes_on_where_it_was(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    places = ["batch.ran:1:raise", "file.run-0.done.json:1:raise", "live.committed:2:raise"]
    out = tmp_path / "out"
    env = environment("mixed", **SMALL, **failures.at(*places))
    enriched.build(env, out)
    runs = Runs()
    with also_listening(runs):
        env.execute("enriched")
    failures.check_all_happened()
    # What failed before it was recorded is repeated; what was recorded is not.
    assert runs.started == [
        *("bounded", "again"),
        *("bounded", "again"),
        *("results", "live", "again"),
        "live",
    ]
    assert enriched.answer(written(out)) == enriched.expected()
