"""`nexmark` without Spark and Flink: its input, its right answers, and the table of times."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from benchmarks.answers.nexmark_tables import digest_of, digest_of_all, digest_of_files, expected
from benchmarks.catalog import PROGRAMS
from benchmarks.inputs.nexmark_files import ddl, write_nexmark
from benchmarks.nexmark.queries import QUERIES
from benchmarks.reporting.query_times import FLINK, NEWEST, OURS, query_table, summary
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
        "| q0 | 2.00 | 3.00 |  | 1.50 |",
        "| q1 | 3.00 | 2.00 |  | 0.67 |",
        "| q2 | 1.00 |  |  |  |",
    ]
    assert summary(result) == "Penstock takes no longer than Flink SQL for 1 of 2 queries."


def test_the_page_has_the_newest_times() -> None:
    (result,) = read_results(NEWEST)
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    assert query_table(result) in page
    assert summary(result) in page
