"""Lines of errors: a script has its own, and what calls the command line has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError

TABLES = """\
CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '2');
CREATE TABLE f (id BIGINT, n BIGINT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '/no');
"""
WRONG = {
    "a column": ("SELECT\n  wrong FROM t", 5),
    "a table": ("INSERT INTO none\nSELECT id FROM t", 4),
    "columns": ("INSERT INTO f\nSELECT id FROM t", 4),
    "types": ("INSERT INTO f SELECT id, id FROM t;\nINSERT INTO f\nSELECT id, 'x' FROM t", 5),
    "rows that change": ("INSERT INTO f SELECT id, COUNT(*) FROM t GROUP BY id", 4),
    "a set": (
        "EXECUTE STATEMENT SET BEGIN\nINSERT INTO f SELECT id, id FROM t;\nINSERT INTO f SELECT id FROM t;\nEND",
        6,
    ),
    "an option": ("SET 'no.such.option' = '1'", 4),
    "an option of a table": (
        "CREATE TABLE g (id BIGINT)\nWITH ('connector' = 'datagen', 'x' = '1')",
        4,
    ),
    "a word": ("SELEKT 1", 4),
    "a clause": ("SELECT id\nFROM t\nQUALIFY 1", 6),
    "the end": ("SELECT id FROM", 4),
    "a name": ("CREATE TABLE g (a INT,\na INT) WITH ('connector' = 'datagen')", 4),
    "a view": ("CREATE VIEW v AS\nSELECT id + 'x' FROM t", 5),
    "a function": ("CREATE FUNCTION f AS 'no_such_module.f'", 4),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("option", ["--explain", "run"])
def test_an_error_has_the_line_of_the_script(name: str, option: str, tmp_path: Path) -> None:
    statement, line = WRONG[name]
    script = tmp_path / "job.sql"
    script.write_text(f"{TABLES}{statement};\n")
    if option == "run":
        env = StreamExecutionEnvironment.get_execution_environment()
        with pytest.raises(PenstockError) as caught:
            env.sql_session.execute(script.read_text(), str(script))
        text = str(caught.value)
    else:
        found = CliRunner().invoke(command_line(), ["sql", str(script), option])
        text = found.output.replace("\n", "")
        assert found.exit_code != 0
    assert f"job.sql:{line} in SQL" in text
    assert "typer" not in text
    assert "click" not in text


def test_a_text_of_the_program_has_the_line_of_the_program() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for text in ("SELEKT 1", "SELECT a", "SET 'no.such.option' = '1'"):
        with pytest.raises(PenstockError) as caught:
            env.execute_sql(text)
        assert caught.value.origin is not None
        assert caught.value.origin.filename == __file__


def test_a_command_that_is_wrong_names_no_library(tmp_path: Path) -> None:
    found = CliRunner().invoke(command_line(), ["state", "show", str(tmp_path)])
    assert found.exit_code != 0
    assert "at:" not in found.output


def test_an_operator_of_a_script_has_its_line(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.sql_session.add(f"{TABLES}INSERT INTO f\nSELECT id, id * 2 FROM t;", "job.sql")
    lines = {node.origin.lineno for node in env.graph.nodes() if node.origin is not None}
    assert lines <= {4}
    assert lines
