"""`nexmark` without Spark and Flink: its input, its right answers, and the table of times."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pytest

from benchmarks.answers.nexmark_tables import digest_of, digest_of_all, digest_of_files, expected
from benchmarks.catalog import PROGRAMS
from benchmarks.inputs.nexmark_files import ddl, write_nexmark
from benchmarks.joined import joined
from benchmarks.model.errors import BenchRequestError
from benchmarks.model.program import Case
from benchmarks.nexmark.queries import QUERIES
from benchmarks.programs.nexmark import PART, PARTS, NexmarkWorkload
from benchmarks.reporting.query_times import FLINK, NEWEST, OURS, query_table, summary, times_of
from benchmarks.reporting.render import read_results


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nexmark")
    write_nexmark(root, 500, 2)
    return root


def relation_of(query: str) -> duckdb.DuckDBPyRelation:
    """Return the rows of a query."""
    found = duckdb.sql(query)
    assert found is not None
    return found


def test_both_forms_of_a_table_have_the_same_rows(tables: Path) -> None:
    names, kinds, *rows = (tables / "bid.tsv").read_text().splitlines()
    assert names.split("\t")[:2] == ["auction", "bidder"]
    assert kinds.split("\t")[5] == "TIMESTAMP(3)"
    pattern = str(tables / "bid" / "*.parquet")
    found = relation_of(
        f"SELECT concat_ws(chr(9), auction, bidder, price, channel, url, epoch_ms(dateTime), extra) FROM '{pattern}'"
    ).fetchall()
    assert [row for (row,) in found] == rows
    assert "WATERMARK FOR dateTime" in ddl(tables, "bid")
    assert "WATERMARK" not in ddl(tables, "side_input")


def test_the_digest_is_that_of_the_texts_of_rows() -> None:
    query = """SELECT 1 AS a, NULL::VARCHAR AS b, 2.5::DECIMAL(10, 1) AS c, TIMESTAMP '1970-01-01 00:00:01' AS d"""
    # md5 of '1|~|2.500000|1000000'
    assert digest_of(relation_of(query)) == (1, int("541582de", 16))


def test_the_digest_of_queries_depends_on_their_places() -> None:
    first = digest_of_all(["x", "y"], {"x": (1, 5), "y": (2, 7)}.__getitem__)
    assert (first.count, int(first.digest, 16)) == (3, 5 + 2 * 7)


def test_the_digest_of_files_is_that_of_their_rows(tables: Path, tmp_path: Path) -> None:
    assert digest_of_files(tables / "bid") == digest_of(
        relation_of(f"SELECT * FROM '{tables}/bid/*.parquet'")
    )
    assert digest_of_files(tmp_path) == (0, 0)


def test_every_query_of_every_system_has_a_right_answer(tables: Path) -> None:
    for system in PROGRAMS["nexmark"].systems:
        names = system.options["queries"].split()
        assert set(names) <= set(QUERIES)
        assert len(names) == len(set(names))
        assert expected(tables, names[:3]).count > 0


def test_the_table_compares_each_query_with_flink() -> None:
    def measured(name, **seconds):
        details = {f"{query}_seconds": values for query, values in seconds.items()}
        return {"system": name, "details": {"cold_seconds": 9.0, **details}}

    result = {
        "results": [
            measured(OURS, q0=[1.0, 2.0, 4.0], q1=[3.0, 3.0, 3.0], q2=[1.0]),
            measured(FLINK, q0=[3.0], q1=[2.0]),
        ]
    }
    assert query_table(result).splitlines()[2:] == [
        "| q0 | 2.00 | 3.00 |  |",
        "| q1 | 3.00 | 2.00 |  |",
        "| q2 | 1.00 |  |  |",
    ]
    assert summary(result) == "Penstock takes no longer than Flink SQL for 1 of 2 queries."


def test_the_parts_are_all_queries_and_each_system_has_some_of_each(tmp_path: Path) -> None:
    for system in PROGRAMS["nexmark"].systems:
        parts = []
        for part in range(PARTS + 1):
            case = Case(10, 1, 1, 3, {PART: part}, {})
            told = NexmarkWorkload(case, tmp_path).specification(system, tmp_path)
            parts.append(told["options"]["queries"].split())
        every, *some = parts
        assert every == system.options["queries"].split()
        assert all(some)
        assert sorted(chain.from_iterable(some)) == sorted(every)


def part(number: int, ours: list[float], commit: str = "abc") -> dict[str, Any]:
    """Return what one query of a part took."""

    def system(name: str, seconds: list[float], digest: str) -> dict[str, Any]:
        return {
            "system": name,
            "options": {"parallelism": 2},
            "records": 1_000,
            "seconds": {"median": median(seconds)},
            "peak_memory_bytes": {"jvm": number},
            "outputs": {"count": number, "digest": digest},
            "outputs_equal": True,
            "details": {"cold_seconds": 9.0, f"q{number}_seconds": seconds},
            "note": "a note",
        }

    return {
        "name": "nexmark",
        "records": 10,
        "keys": 1,
        "machine": {},
        "versions": {},
        "settings": {},
        "commit": commit,
        "runs": len(ours),
        "wall_seconds": 1.5,
        "options": {PART: number},
        "results": [system(OURS, ours, "f" * 16), system(FLINK, [3.0] * len(ours), f"{number:x}")],
        "skipped": [],
    }


def test_parts_are_joined_round_by_round() -> None:
    old = part(2, [50.0, 60.0])
    parts = [old, *(part(number, [1.0 * number, 2.0]) for number in range(1, PARTS + 1))]
    made = joined(parts)
    ours, flink = made["results"]
    first, last = float(sum(range(1, PARTS + 1))), 2.0 * PARTS
    assert ours["seconds"] == {"min": last, "median": (first + last) / 2, "max": first}
    assert ours["records"] == 1_000 * PARTS
    assert ours["outputs"] == {"count": int(first), "digest": f"{2**64 - PARTS:016x}"}
    assert ours["peak_memory_bytes"] == {"jvm": PARTS}
    assert times_of(made, OURS)["q2"] == 2.0
    assert list(times_of(made, OURS)) == [f"q{number}" for number in range(1, PARTS + 1)]
    assert flink["records_per_ms"] == pytest.approx(1 / 3, abs=1e-3)
    ratio = flink["seconds"]["median"] / ours["seconds"]["median"]
    assert list(made["ratios"].values()) == [pytest.approx(ratio, abs=2e-3)]
    assert (made["wall_seconds"], made["options"], made["runs"]) == (1.5 * PARTS, {PART: 0}, 2)


def test_parts_that_are_missing_or_differ_are_not_joined() -> None:
    parts = [part(number, [1.0]) for number in range(1, PARTS + 1)]
    with pytest.raises(BenchRequestError, match="part 3"):
        joined([*parts[:2], *parts[3:]])
    with pytest.raises(BenchRequestError, match="same commit"):
        joined([*parts[1:], part(1, [1.0], commit="def")])


def test_rounds_of_single_systems_are_joined_one_after_the_other() -> None:
    def piece(system: str, seconds: float, options: dict[str, int]) -> dict[str, Any]:
        (made,) = (each for each in part(1, [seconds])["results"] if each["system"] == OURS)
        details = {"cold_seconds": 9.0, "log_bytes": [int(seconds)]}
        result = {**made, "system": system, "details": details}
        return {**part(1, [seconds]), "name": "coded-join", "options": options, "results": [result]}

    on, off = "penstock on lmdb", "penstock off lmdb"
    pieces = [piece(name, each, {"once": 1}) for each in (3.0, 1.0, 5.0) for name in (on, off)]
    made = joined(pieces)
    first, second = made["results"]
    assert first["details"] == {"log_bytes": [3, 1, 5]}
    assert first["seconds"] == second["seconds"] == {"min": 1.0, "median": 3.0, "max": 5.0}
    assert made["ratios"] == {"penstock off lmdb / penstock on lmdb, 10 records": 1.0}
    with pytest.raises(BenchRequestError, match="number of rounds"):
        joined(pieces[:-1])
    with pytest.raises(BenchRequestError, match="same options"):
        joined([*pieces, piece(on, 9.0, {"once": 0})])


def test_the_page_has_the_newest_times() -> None:
    (result,) = read_results(NEWEST)
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert query_table(result) in page
    assert summary(result) in page
