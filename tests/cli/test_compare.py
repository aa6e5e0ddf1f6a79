"""`penstock compare` of files, tables and job directories."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.connectors.delta.delta_sink import DeltaSink
from penstock.connectors.files.digest_sink import DigestSink
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.graph.endpoints import Sink, SinkContext
from penstock.inspection import OutputComparison, OutputDifference, compare_outputs
from penstock.observe.events.event_json import to_line
from penstock.observe.events.event_log import EventFiles
from penstock.runtime.spill.spill_space import SpillSpace, SpillStore
from penstock.spark.inspect import row_differences
from penstock.spark.job.event_log import job_started
from penstock.spark.job.job_directory import JobDirectory
from tests.runtime.jobs import STREAMING, environment

OLD = [{"carrier": "AA", "n": 7, "at": 20}, {"carrier": "UA", "n": 1, "at": 10}]
NEW = [{"carrier": "AA", "n": 8, "at": 20}, {"carrier": "DL", "n": 2, "at": 30}]


def lines(directory: Path, *rows: Any, name: str = "part-0.json") -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return directory


def differences(tmp_path: Path, one: Any, other: Any, **how: Any) -> OutputDifference:
    """Return what differs between rows in JSON files."""
    paths = lines(tmp_path / "a", *one), lines(tmp_path / "b", *other)
    (found,) = compare_outputs(sinks={"out": paths}, how=OutputComparison(**how))
    return found


def counts(found: OutputDifference) -> tuple[int, ...]:
    sizes = found.rows_a, found.rows_b
    return (*sizes, found.only_in_a, found.only_in_b, found.different)


def job(directory: Path, *sinks: tuple[str, Sink]) -> Path:
    """Make the directory of a job that has begun with some sinks."""
    env = environment({**STREAMING, "pipeline.max-parallelism": "16"})
    kind = Types.ROW_NAMED(["carrier", "n"], [Types.STRING(), Types.LONG()])
    rows = env.from_collection([], kind)
    for uid, sink in sinks:
        rows.sink_to(sink).uid(uid)
    plan = env.plan()
    JobDirectory.open(str(directory), plan, "numbers").release()
    EventFiles(directory).append(to_line(job_started(plan, env.get_configuration())))
    return directory


def table(path: Path, *rows: Any) -> Path:
    schema = pa.schema([("carrier", pa.string()), ("n", pa.int64())])
    deltalake.write_deltalake(str(path), pa.Table.from_pylist(list(rows), schema), mode="append")
    return path


def test_appended_rows_count_as_often_as_they_occur(tmp_path: Path) -> None:
    one, other = [{"n": 1}, {"n": 1}, {"n": 10}, {"n": 9}], [{"n": 1}, {"n": 2}]
    found = differences(tmp_path, one, other)
    assert (found.verdict, counts(found)) == ("different", (4, 2, 3, 1, 0))
    assert [(each.before, each.after) for each in found.examples] == [
        ({"n": 1}, None),
        (None, {"n": 2}),
        ({"n": 9}, None),
        ({"n": 10}, None),
    ]
    assert differences(tmp_path, one, one[::-1]).verdict == "equal"
    assert differences(tmp_path, [{"n": 1}], [{"n": 1.0}]).verdict == "different"
    assert differences(tmp_path, [], []).verdict == "equal"


def test_the_last_row_of_a_key_counts(tmp_path: Path) -> None:
    old = [{"carrier": "AA", "n": 1, "at": 1}, *OLD]
    found = differences(tmp_path, old, NEW, keys=["carrier"], time="at")
    assert counts(found) == (2, 2, 1, 1, 1)
    assert [each.key for each in found.examples] == [{"carrier": c} for c in ("AA", "DL", "UA")]
    assert (found.examples[0].before, found.examples[0].after) == (OLD[0], NEW[0])
    assert found.first_time == 10


def test_the_last_row_is_that_of_the_last_epoch(tmp_path: Path) -> None:
    for epoch in (10, 9):
        lines(tmp_path / "a", {"k": 1, "n": epoch}, name=f"part-0a-s0-0-{epoch}-0.json")
    lines(tmp_path / "b", {"k": 1, "n": 10})
    paths = tmp_path / "a", tmp_path / "b"
    (found,) = compare_outputs(sinks={"out": paths}, how=OutputComparison(keys=["k"]))
    assert found.verdict == "equal"


def test_a_tolerance_is_one_of_a_column(tmp_path: Path) -> None:
    one = [{"k": "a", "x": 0.1 + 0.2, "y": 1}, {"k": "a", "x": 0.4, "y": 1}]
    other = [{"k": "a", "x": 0.4 + 1e-12, "y": 1}, {"k": "a", "x": 0.3, "y": 1}]
    assert counts(differences(tmp_path, one, other))[2:] == (2, 2, 0)
    near = {"tolerances": {"x": 1e-9}}
    assert differences(tmp_path, one, other, **near).verdict == "equal"
    assert differences(tmp_path, one[:1], other[1:], keys=["k"], **near).verdict == "equal"
    far = [{**other[0], "y": 2}, {**other[1], "x": 0.3001}]
    assert counts(differences(tmp_path, one, far, **near))[2:] == (2, 2, 0)
    # An exact partner first would leave 1.0 and 1.2 over.
    chain = [{"x": 1.0}, {"x": 1.1}], [{"x": 1.1}, {"x": 1.2}]
    assert differences(tmp_path, *chain, tolerances={"x": "0.1"}).verdict == "different"
    assert differences(tmp_path, *chain, tolerances={"x": "0.11"}).verdict == "equal"
    assert differences(tmp_path, [{"x": None}], [{"x": 0.0}], tolerances={"x": 1}).only_in_a == 1
    texts = differences(tmp_path, [{"x": "0.10"}], [{"x": 0.1}], tolerances={"x": "1e-9"})
    assert texts.verdict == "equal"


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    one, other = [{"n": 1, "seq": 1}], [{"n": 1, "seq": 2, "new": 3}]
    assert differences(tmp_path, one, other).verdict == "different"
    assert differences(tmp_path, one, other, ignored=["seq", "new"]).verdict == "equal"


def test_parts_that_spill_have_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = [{"k": n % 700, "n": n} for n in range(3000)]
    other = [*one[:-3], {"k": 1000, "n": 0}]
    whole = [differences(tmp_path, one, other, keys=k, time="n") for k in ([], ["k"])]
    spilled: list[int] = []
    new_store = SpillSpace.new_store

    def counted(space: SpillSpace) -> SpillStore:
        spilled.append(1)
        return new_store(space)

    monkeypatch.setattr(SpillSpace, "new_store", counted)
    monkeypatch.setattr(row_differences, "MEMORY_BYTES", 1000)
    monkeypatch.setattr(row_differences, "PART_BYTES", 10_000)
    for keys, expected in zip(([], ["k"]), whole, strict=True):
        found = differences(tmp_path, one, other, keys=keys, time="n")
        assert counts(found) == counts(expected)
        assert (found.examples, found.first_time) == (expected.examples, expected.first_time)
    assert counts(whole[0]) == (3000, 2998, 3, 1, 0)
    assert counts(whole[1]) == (700, 701, 0, 1, 3)
    assert len(spilled) > 10


def test_wrong_columns_and_tolerances_are_refused(penstock: Any, tmp_path: Path) -> None:
    paths = f"out={lines(tmp_path / 'a', *OLD)},{lines(tmp_path / 'b', *NEW)}"
    for options, message in (
        (("--key", "carier"), "did you mean 'carrier'?"),
        (("--time", "when"), "no row has a column 'when'"),
        (("--tolerance", "m=1"), "no row has a column 'm'"),
        (("--tolerance", "n=-1"), "the tolerance of column 'n' is '-1'"),
        (("--sink", "x=/only"), "NAME=PATH_A,PATH_B"),
    ):
        result = penstock("compare", "--sink", paths, *options)
        assert (result.exit_code, message in result.output) == (2, True), result.output


def test_the_command_prints_a_table_and_the_rows(penstock: Any, tmp_path: Path) -> None:
    paths = f"totals={lines(tmp_path / 'a', *OLD)},{lines(tmp_path / 'b', *NEW)}"
    result = penstock("compare", "--sink", paths, "--key", "carrier", "--time", "at")
    assert result.exit_code == 1
    (row,) = [line for line in result.stdout.splitlines() if "│ totals" in line]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["totals", "different", "carrier", "2", "2", "1", "1", "1"]
    assert '~ totals {"carrier":"AA"}: {"n":7} → {"n":8}' in result.stdout
    assert '- totals {"carrier":"UA"}: {"carrier":"UA","n":1,"at":10}' in result.stdout
    assert "totals: first difference at 10" in result.stdout
    assert penstock("compare", "--sink", paths, "--limit", "0").exit_code == 1


def test_json_has_one_object_per_sink(penstock: Any, tmp_path: Path) -> None:
    paths = f"totals={lines(tmp_path / 'a', *OLD)},{lines(tmp_path / 'b', *NEW)}"
    result = penstock("compare", "--sink", paths, "--key", "carrier", "--limit", "1", "--json")
    assert json.loads(result.stdout) == {
        "sink": "totals",
        "verdict": "different",
        "keys": ["carrier"],
        "rows_a": 2,
        "rows_b": 2,
        "only_in_a": 1,
        "only_in_b": 1,
        "different": 1,
        "first_time": None,
        "first_epochs": [None, None],
        "digests": None,
        "positions": [],
        "examples": [{"key": {"carrier": "AA"}, "before": OLD[0], "after": NEW[0]}],
    }


def test_jobs_have_recorded_where_they_write(penstock: Any, tmp_path: Path) -> None:
    a, b = (
        job(
            tmp_path / f"job-{name}",
            ("lines", FileSink.json(tmp_path / f"lines-{name}[1]")),
            ("totals", DeltaSink.upsert(tmp_path / f"totals-{name}", keys=["carrier"])),
        )
        for name in "ab"
    )
    for name, rows in (("a", OLD), ("b", NEW)):
        lines(tmp_path / f"lines-{name}[1]", *OLD)
        for row in rows:
            table(tmp_path / f"totals-{name}", {"carrier": row["carrier"], "n": row["n"]})
    result = penstock("compare", str(a), str(b), "--json")
    found = {each["sink"]: each for each in map(json.loads, result.stdout.splitlines())}
    assert result.exit_code == 1, result.output
    assert (found["lines"]["verdict"], found["lines"]["keys"]) == ("equal", [])
    assert (found["totals"]["keys"], found["totals"]["different"]) == (["carrier"], 1)
    assert penstock("compare", str(a), str(b), "--sink", "lines").exit_code == 0
    none = penstock("compare", str(a), str(b), "--sink", "line")
    assert (none.exit_code, "no job has a sink 'line'" in none.output) == (2, True)


def test_sinks_without_a_uid_are_matched_by_name(tmp_path: Path) -> None:
    paths = [lines(tmp_path / name, *OLD) for name in "ab"]
    a = job(tmp_path / "job-a", ("first", FileSink.json(paths[0])))
    b = job(tmp_path / "job-b", ("second", FileSink.json(paths[1])))
    (found,) = compare_outputs(a, b)
    assert (found.sink, found.verdict) == ("first", "equal")


def test_what_cannot_be_compared_is_named(penstock: Any, tmp_path: Path) -> None:
    shared = FileSink.json(lines(tmp_path / "out", *OLD))
    a = job(tmp_path / "a", ("gone", DiscardingSink()), ("shared", shared))
    b = job(tmp_path / "b", ("gone", DiscardingSink()), ("shared", shared), ("tops", shared))
    result = penstock("compare", str(a), str(b))
    assert result.exit_code == 2
    for message in (
        "gone: sink 'gone' keeps no output that is known",
        "shared: both jobs write sink 'shared' to",
        "tops: only one job has a sink 'tops'",
        "fix: Name the outputs: --sink shared=PATH_A,PATH_B",
    ):
        assert message in result.output, result.output
    copy = lines(tmp_path / "copy", *OLD)
    given = f"shared={tmp_path / 'out'},{copy}"
    assert penstock("compare", str(a), str(b), "--sink", given).exit_code == 0
    nothing = penstock("compare", str(tmp_path / "copy"), str(b))
    assert (nothing.exit_code, "not a checkpoint directory" in nothing.output) == (2, True)
    assert "no two jobs" in penstock("compare", str(a)).output


def test_the_first_epoch_of_a_difference_is_named(penstock: Any, tmp_path: Path) -> None:
    for epoch in (2, 10):
        rows = [{"k": 1, "n": epoch}, {"k": 2, "n": epoch}]
        lines(tmp_path / "a", *rows, name=f"part-0a-s0-1-{epoch}-0.json")
        other = rows if epoch == 2 else [rows[0], {"k": 2, "n": 11}]
        lines(tmp_path / "b", *other, name=f"part-0b-s0-3-{epoch + 1}-0.json")
    paths = tmp_path / "a", tmp_path / "b"
    (found,) = compare_outputs(sinks={"out": paths})
    assert (found.first_epoch_a, found.first_epoch_b) == ("1-10", "3-11")
    given = f"out={paths[0]},{paths[1]}"
    result = penstock("compare", "--sink", given, "--key", "k")
    assert "out: first difference: a has it in epoch 1-10, b has it in epoch 3-11" in result.stdout


def test_a_digest_is_compared_with_the_rows_of_the_other_job(tmp_path: Path) -> None:
    kind = Types.ROW_NAMED(["carrier", "n"], [Types.STRING(), Types.LONG()])
    sink = DigestSink(str(tmp_path / "digest"), FileFormat.JSON)
    context = SinkContext("0b", "out", 0, kind, "out", None, tmp_path)
    committer, writer = sink.create_committer(context), sink.create_writer(context)
    committer.recover()
    writer.write([("AA", 7), ("UA", 1)])
    committer.commit("0-0", writer.prepare_commit())
    b = job(tmp_path / "b", ("out", sink))
    for rows, verdict in ((OLD, "equal"), (NEW, "different")):
        plain = [{"carrier": row["carrier"], "n": row["n"]} for row in rows]
        a = job(tmp_path / f"a-{verdict}", ("out", FileSink.json(tmp_path / verdict)))
        lines(tmp_path / verdict, *plain[::-1])
        (found,) = compare_outputs(a, b)
        assert (found.verdict, found.rows_a, found.rows_b) == (verdict, 2, 2)
    (refused,) = compare_outputs(a, b, how=OutputComparison(keys=["carrier"]))
    assert "has kept a digest" in str(refused.problem)


def test_a_page_has_everything_in_one_file(penstock: Any, tmp_path: Path) -> None:
    old = [{**OLD[0], "carrier": "<AA>"}, *OLD]
    paths = f"totals={lines(tmp_path / 'a', *old)},{lines(tmp_path / 'b', *NEW)}"
    page = tmp_path / "page.html"
    result = penstock(
        "compare",
        "--sink",
        paths,
        "--sink",
        "same=/no/a,/no/b",
        "--limit",
        "2",
        "--page",
        str(page),
    )
    text = page.read_text()
    assert result.exit_code == 2
    assert "&lt;AA&gt;" in text
    assert "<AA>" not in text
    assert "The first 2 of 5; --limit shows more." in text
    assert "there is no output at /no/a" in text
    assert not re.findall(r"(?:src|href)=|url\(|@import", text), "it needs no other file"
