"""The PostgreSQL programs: small, on the server of the tests, and the answers that they are compared with."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.answers.kafka_records import expected_counts, is_last_count
from benchmarks.answers.postgres_rows import changed_rows, expected_changes, is_last_change
from benchmarks.inputs import postgres as tables
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Case
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs import postgres as programs
from penstock.common import Configuration
from penstock.connectors.postgres.client import close_sessions
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.testing import run_in_process
from tests.postgres_server import Database

SHAPE = Shape(records=2_006, live=0, keys=7, parallelism=2, mode=STREAMING)


def _environment(mode: str) -> StreamExecutionEnvironment:
    conf = Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": "2"})
    return StreamExecutionEnvironment.get_execution_environment(conf)


def test_answers_are_those_of_python() -> None:
    counts = Counter(row % 7 for row in range(changed_rows(SHAPE)) for _ in ("insert", "update"))
    assert expected_changes(SHAPE) == added_up(digest_rows(iter(counts.items())))
    rows = [(-1, 1), *((key, n) for key, count in counts.items() for n in range(1, count + 1))]
    kept = is_last_change(SHAPE, np.array(rows).T)
    assert [row for row, last in zip(rows, kept, strict=True) if last] == [*counts.items()]


@pytest.mark.parametrize("mode", [STREAMING, BATCH])
def test_a_table_gives_the_answer(
    postgres: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str
) -> None:
    monkeypatch.setenv(tables.SERVER, postgres.dsn)
    case = Case(SHAPE.records, SHAPE.keys, 2, 1, {})
    for _ in range(2):  # it is filled once
        programs.write_table(case, tmp_path)
    env = _environment(mode)
    programs.counted(env, SHAPE).sink_to(DiscardingSink()).name("out")
    rows = run_in_process(env).of("out")
    kept = is_last_count(SHAPE, np.array(rows).T)
    last = [row for row, is_last in zip(rows, kept, strict=True) if is_last]
    assert added_up(digest_rows(iter(last))) == expected_counts(SHAPE)
    close_sessions()


def test_changes_are_those_that_the_answer_counts(
    postgres: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(tables.SERVER, postgres.dsn)
    assert tables.make_table("changed", range(-1, 0), SHAPE.keys)
    source = tables.reading("changed").set_slot(postgres.slot()).build()
    taken = source.snapshot(tmp_path)
    assert list(taken.files.values()) == [1]
    tables.change_table("changed", changed_rows(SHAPE), SHAPE.keys)
    (split,) = source.exact_discover(taken.positions)
    read = source.batches(split.id, taken.positions[split.id], split.head)
    counts = Counter(row.key for _, batch in read for row in batch.records)
    assert added_up(digest_rows(iter(counts.items()))) == expected_changes(SHAPE)
    close_sessions()
    tables.drop_table("changed")
    assert tables.make_table("changed", range(1), SHAPE.keys)


def test_programs_are_listed_with_what_they_read() -> None:
    assert [program.name for program in programs.PROGRAMS] == ["postgres", "postgres-changes"]
    for program in programs.PROGRAMS:
        assert program.reference in {system.name for system in program.systems}
