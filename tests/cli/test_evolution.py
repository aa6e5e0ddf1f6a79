"""`penstock plan --from`, the question at a terminal, and what `penstock upgrade` refuses before it stops a job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.environment.job import PlanReady
from penstock.cli.plan import planned_by
from penstock.common import Configuration
from penstock.config.configuration import set_process_overrides
from penstock.config.options import RECOVERY_PATH, EvolutionPolicy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import EvolutionError
from penstock.plan.compat.evolution import compare
from penstock.runtime.task.report import Report
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.run_outline import outline_of
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.upgrade.policy import decide
from penstock.spark.upgrade.stored_program import manifest_at, stored_program
from penstock.state.savepoint import SourceRecord, prepare_directory, write_manifest
from tests.runtime.jobs import environment

PROGRAM = """
    import sys

    from penstock.common import Types, WatermarkStrategy
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.datastream.connectors import DataGeneratorSource, FileSink, FileSource

    args = sys.argv[1:]
    env = StreamExecutionEnvironment.get_execution_environment()
    print("hello from the program")
    source = FileSource.text("input").monitor_continuously()
    if "--generated" in args:
        source = DataGeneratorSource(str, count=None)
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "files").uid("files")
    step = 2 if "--twice" in args else 1
    pairs = lines.map(lambda line: (line, step)).uid("pairs")
    counts = pairs.key_by(lambda r: r[0]).sum(1).uid("counts")
    counts.map(str, Types.STRING()).uid("texts").sink_to(FileSink.text("out")).uid("out")
    if "--often" in args:
        often = counts.key_by(lambda r: r[1]).sum(1).uid("often")
        often.map(str, Types.STRING()).uid("shown").sink_to(FileSink.text("new")).uid("new")
    env.execute("counts")
"""
SETTINGS = {"pipeline.max-parallelism": "16"}
NEW = ("--", "--often")


@pytest.fixture
def job(program) -> str:
    return str(program(PROGRAM))


@pytest.fixture
def ready(job) -> PlanReady:
    set_process_overrides("test", {**SETTINGS, "execution.target": "plan"})
    made = planned_by(Path(job), [])
    set_process_overrides("test", SETTINGS)
    return made


def files(*sizes: int) -> PinnedFiles:
    return PinnedFiles({f"/input/{n}.txt": (size, n) for n, size in enumerate(sizes)}, "")


@pytest.fixture
def saved(ready, tmp_path) -> Path:
    """A savepoint of the program, which has read two files."""
    (run,), (source,) = ready.plan.runs, ready.plan.sources
    kinds = tuple(part.kind for part in source.parts)
    read = {"0": files(1 << 20, 1 << 19).to_json()}
    records = (SourceRecord("files", "files", kinds, 0, {}, read),)
    outline = outline_of(ready.plan, run, "1", "counts")
    prepare_directory(tmp_path / "saved")
    manifest = outline.savepoint("1", Report(), records, (), drained=False)
    write_manifest(tmp_path / "saved", manifest)
    return Path(tmp_path, "saved")


@pytest.fixture
def running(ready, tmp_path) -> Iterator[JobDirectory]:
    """The checkpoint directory of the program, which a driver runs."""
    directory = JobDirectory.open(str(tmp_path / "old"), ready.plan, "counts")
    (run,) = ready.plan.runs
    outline = outline_of(ready.plan, run, directory.job_id, "counts", directory.fingerprint)
    directory.record("run-0.outline", outline.to_json())
    directory.record("run-0.pinned", {"files": {"0.0": files(5).to_json()}, "splits": {}})
    yield directory
    directory.release()


def names_in(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_a_program_that_has_not_changed_keeps_everything(penstock, job, saved, running):
    for place in saved, running.path:
        result = penstock("plan", job, "--from", str(place))
        assert (result.exit_code, result.stderr) == (0, "hello from the program\n")
        assert result.stdout.splitlines() == [
            "kept  source    files",
            "kept  operator  map    pairs",
            "kept  operator  sum    counts",
            "kept  operator  str    texts",
            "kept  sink      files  out",
            "",
            "no history is read",
        ]


def test_new_operators_and_what_they_read_are_listed(penstock, job, saved):
    result = penstock("plan", job, "--from", str(saved), *NEW)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[4:] == [
        "new   operator  sum    often   no operator with this uid was stored",
        "new   operator  str    shown   no operator with this uid was stored",
        "kept  sink      files  out",
        "new   sink      files  new     no sink with this uid was stored",
        "",
        "reads again, for what is not kept:",
        "  source files: 2 files (1.5 MiB)",
        "  sink files (uid new) gets the results of the history",
    ]


def test_what_reads_a_changed_function_is_changed(penstock, job, saved):
    result = penstock("plan", job, "--from", str(saved), "--", "--twice")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1:4] == [
        "changed  operator  map    pairs   its function differs",
        "changed  operator  sum    counts  it reads 'pairs', which is not kept",
        "changed  operator  str    texts   it reads 'counts', which is not kept",
    ]
    assert result.stdout.splitlines()[-1] == (
        "  sink files (uid out) keeps the results of the old program; with another uid and target it gets those of the history"
    )


def test_a_running_job_is_compared_and_left_as_it_is(penstock, job, running):
    before = names_in(running.path)
    result = penstock("plan", job, "--from", str(running.path), *NEW)
    assert result.exit_code == 0, result.stderr
    assert "  source files: 0 files (0.0 MiB)" in result.stdout, "it has no epoch yet"
    assert names_in(running.path) == before


def test_a_stopped_job_is_compared_by_its_savepoint(penstock, job, running, saved):
    running.record("stopped", {"savepoint": str(saved)})
    result = penstock("plan", job, "--from", str(running.path), *NEW)
    assert result.exit_code == 0, result.stderr
    assert "  source files: 2 files (1.5 MiB)" in result.stdout


@pytest.mark.parametrize("more", [(), ("--often",)])
def test_a_source_of_another_kind_is_refused(penstock, job, saved, more):
    result = penstock("plan", job, "--from", str(saved), "--", "--generated", *more)
    assert result.exit_code == 1
    assert result.stdout.endswith("refused:\n  source files: it was files, and is generator\n")


def test_the_choices_about_a_history_are_shown(penstock, job, saved, tmp_path):
    plan = ("plan", job, "--from", str(saved))
    result = penstock(*plan, "--start-empty", "files", *NEW)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-2:] == [
        "no history is read",
        "  source files starts empty: the results of sum (uid often), sink files (uid new) lack its history",
    ]
    table = tmp_path / "table"
    table.mkdir()
    (table / "1.txt").touch()
    result = penstock(*plan, "--history", f"files={table}", *NEW)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-3:] == [
        "reads again, for what is not kept:",
        f"  source files: the table {table} in the place of its history",
        "  sink files (uid new) gets the results of the history",
    ]
    result = penstock(*plan, "-D", "execution.evolution.history=files", *NEW)
    assert "the value must be UID=PATH" in result.stderr


def test_a_history_without_a_record_names_the_choices(penstock, job, tmp_path):
    set_process_overrides("test", {**SETTINGS, "execution.target": "plan"})
    old = planned_by(Path(job), ["--generated"]).plan
    set_process_overrides("test", SETTINGS)
    stands = {"splits": [[5, None]]}
    kinds = tuple(part.kind for part in old.sources[0].parts)
    records = (SourceRecord("files", "files", kinds, 0, stands),)
    outline = outline_of(old, old.runs[0], "1", "counts")
    place = tmp_path / "generated"
    prepare_directory(place)
    write_manifest(place, outline.savepoint("1", Report(), records, (), drained=False))
    args = ("--", "--generated", "--often")
    result = penstock("plan", job, "--from", str(place), *args)
    assert result.exit_code == 1
    *_, first = result.stdout.partition("refused:\n")
    assert first.splitlines() == [
        "  source files: the savepoint has no record of where the job began to read it",
        "choose for each of these sources:",
        "  penstock upgrade OLD_DIR NEW_DIR JOB.PY --start-empty files",
        "    what is not kept begins without it; also execution.evolution.start-empty=files",
        "  penstock upgrade OLD_DIR NEW_DIR JOB.PY --history files=TABLE",
        "    reads files or a Delta table in its place; also execution.evolution.history=files=TABLE",
    ]
    result = penstock("plan", job, "--from", str(place), "--start-empty", "files", *args)
    assert result.exit_code == 0, result.stderr


def test_other_key_groups_are_refused_with_history_and_without(penstock, job, saved):
    groups = ("-D", "pipeline.max-parallelism=8")
    result = penstock("plan", job, "--from", str(saved), *groups)
    assert result.exit_code == 1
    assert result.stdout.endswith("the savepoint has 16 key groups, but this job has 8\n")
    result = penstock("plan", job, "--from", str(saved), *groups, *NEW)
    assert result.exit_code == 1
    assert result.stdout.endswith("the state has 16 key groups, and the program 8\n")


def test_a_directory_without_state_is_an_error(penstock, job, tmp_path):
    result = penstock("plan", job, "--from", str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "[JOB_DIRECTORY]" in result.stderr
    assert "is not a checkpoint directory" in result.stderr
    assert penstock("plan", job, "--from", str(tmp_path / "not there")).exit_code == 2
    assert penstock("plan", job, "--from", str(tmp_path), "--json").exit_code == 2


def test_a_batch_job_has_no_state_to_compare_with(penstock, job, tmp_path):
    batch = environment({"execution.runtime-mode": "BATCH", "pipeline.name": "counts"})
    batch.from_collection([1]).sink_to(DiscardingSink())
    directory = JobDirectory.open(str(tmp_path / "job"), batch.plan(), "counts")
    directory.record("run-0.done", {})
    directory.release()
    result = penstock("plan", job, "--from", str(tmp_path / "job"))
    assert result.exit_code == 1
    assert "'counts' is a batch job" in result.stderr


def test_help_has_examples(penstock):
    assert "penstock plan job.py --from /data" in penstock("plan", "--help").stdout
    assert "Example: penstock upgrade /data" in penstock("upgrade", "--help").stdout


@pytest.fixture
def before(running) -> Iterator[None]:
    """Check that the job was not requested to stop, and its directory not changed."""
    names = names_in(running.path)
    yield
    assert names_in(running.path) == names


@pytest.mark.usefixtures("before")
def test_an_upgrade_that_is_refused_stops_nothing(penstock, job, running, tmp_path):
    new = tmp_path / "new"
    result = penstock("upgrade", str(running.path), str(new), job, "--", "--generated")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "refused:\n  source files: it was files, and is generator" in result.stderr
    assert "[EVOLUTION] the program cannot go on with the state of" in result.stderr
    assert "see above; the job was not stopped" in result.stderr
    assert "execution.evolution keep" in result.stderr
    assert not new.exists()


@pytest.mark.usefixtures("before")
def test_a_directory_that_cannot_be_the_new_one_stops_nothing(
    penstock, job, ready, running, saved, tmp_path
):
    other = tmp_path / "other"
    begun = JobDirectory.open(str(other), ready.plan, "counts")
    begun.record("run-0.pinned", {"files": {}, "splits": {}})
    begun.release()
    kept = names_in(other)
    for new, args, problem in [
        (running.path, (), f"[EVOLUTION] OLD_DIR and NEW_DIR are both {running.path}"),
        (other, (), f"[EVOLUTION] {other} has a job that began without a savepoint"),
        (other, NEW, "[JOB_MISMATCH]"),
        (saved, (), "is not empty and not a checkpoint directory"),
    ]:
        result = penstock("upgrade", str(running.path), str(new), job, *args)
        assert result.exit_code == 1
        assert problem in result.stderr
    assert names_in(other) == kept


def test_an_upgrade_of_what_is_no_job_is_an_error(penstock, job, saved, tmp_path):
    result = penstock("upgrade", str(saved), str(tmp_path / "new"), job)
    assert result.exit_code == 1
    assert "is not a checkpoint directory: it has no job.json" in result.stderr
    assert not (tmp_path / "new").exists()


def test_an_interrupt_before_the_start_can_be_repeated(penstock, job, running, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.script.run_script", interrupt)
    new = running.path.with_name("new")
    result = penstock("upgrade", str(running.path), str(new), job)
    assert result.exit_code == 130
    assert result.stderr.endswith("stopped; the same command goes on\n")
    assert not new.exists()


@pytest.mark.parametrize(
    ("typed", "decided"),
    [("allow", EvolutionPolicy.ALLOW), ("Keep", EvolutionPolicy.KEEP), ("yes", None), ("", None)],
)
def test_a_user_at_a_terminal_decides(job, saved, monkeypatch, typed, decided):
    set_process_overrides("test", {**SETTINGS, "execution.target": "plan"})
    plan = planned_by(Path(job), ["--twice"]).plan
    evolution = compare(plan, stored_program(manifest_at(saved), "savepoint 1"))
    answers = (EvolutionPolicy.ALLOW, EvolutionPolicy.KEEP)
    user, terminal = os.openpty()
    with os.fdopen(terminal, "r+b", buffering=0) as raw, os.fdopen(user, "rb", buffering=0) as seen:
        monkeypatch.setattr("sys.stdin", open(raw.fileno(), closefd=False))  # noqa: SIM115
        monkeypatch.setattr("sys.stderr", open(raw.fileno(), "w", closefd=False))  # noqa: SIM115
        os.write(user, f"{typed}\n".encode())
        if decided is None:
            with pytest.raises(EvolutionError, match="its function differs") as refused:
                decide(evolution, Configuration(), answers)
            assert "execution.evolution to allow" in str(refused.value)
        else:
            assert decide(evolution, Configuration(), answers) is decided
        shown = seen.read(4000).decode()
        while "start: " not in shown:
            shown += seen.read(4000).decode()
    assert "The program differs from that of savepoint 1:" in shown
    assert "  changed: operator map (uid pairs): its function differs" in shown
    assert (
        "allow or keep? Any other text stops the start: " in shown
    )  # the terminal echoes, when it gets to it


def test_without_a_terminal_nobody_is_asked(job, saved):
    set_process_overrides("test", {**SETTINGS, "execution.target": "plan"})
    plan = planned_by(Path(job), ["--twice"]).plan
    evolution = compare(plan, stored_program(manifest_at(saved), "savepoint 1"))
    with pytest.raises(EvolutionError) as refused:
        decide(evolution, Configuration(), (EvolutionPolicy.KEEP,))
    assert "penstock upgrade OLD_DIR NEW_DIR JOB.PY" in str(refused.value)
    assert "to allow" not in str(refused.value)


def test_a_shadow_tells_what_it_reads_and_writes(penstock, job, running, tmp_path, monkeypatch):
    started: list[object] = []
    monkeypatch.setattr("penstock.cli.script.run_script", lambda *given: started.append(given))
    new = tmp_path / "new"
    for sinks, written in (("files", "text files"), ("discard", "digest of text rows")):
        result = penstock(
            "shadow", job, "--of", str(running.path), "--into", str(new), "--sinks", sinks
        )
        assert result.exit_code == 0, result.stderr
        assert result.stderr.splitlines()[1:] == [
            f"shadow of {running.path}, in {new}",
            "  source files: 0 files (0.0 MiB)",
            f"  sink files: {written} in {new}/outputs/out",
        ]
    assert len(started) == 2
    assert Configuration().get(RECOVERY_PATH) == str(new / "shadow")
    begun = manifest_at(new / "shadow")
    assert (begun.operators, begun.sinks, begun.job_id) == ((), (), running.job_id)


def test_a_shadow_that_cannot_be_leaves_nothing(penstock, job, running, tmp_path):
    old, new = str(running.path), tmp_path / "new"
    for of, into, args, problem in [
        (old, old, (), f"a job and its shadow would both be in {old}"),
        (old, new, ("--", "--generated"), "source files: it was files, and is generator"),
        (tmp_path, new, (), "is not a checkpoint directory"),
    ]:
        result = penstock("shadow", job, "--of", str(of), "--into", str(into), *args)
        assert (result.exit_code, problem in result.stderr) == (1, True), result.stderr
    assert not new.exists()
