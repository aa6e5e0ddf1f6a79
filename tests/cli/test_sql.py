"""`penstock sql`: scripts, what they would run, and the shell."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from penstock.cli.script import print_results, table_lines
from penstock.cli.sql import PipedLines, SqlShell, TypedLines
from penstock.datastream import StreamExecutionEnvironment

TABLES = """
CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3');
CREATE TABLE shown (n INT) WITH ('connector' = 'print');
"""


def test_a_table_of_rows_that_come():
    seen = []

    def rows():
        for row in (["1", "tea"], ["100", "a long text"], ["2", ""]):
            seen.append(row)
            yield row

    lines = table_lines(["n", "name"], rows())
    assert [next(lines) for _ in range(3)] == ["n | name", "--+-----", "1 | tea"]
    assert len(seen) == 1  # a row is written before the next is there
    assert list(lines) == ["100 | a long text", "2   |"]
    assert list(table_lines(["n"], [])) == ["n", "-"]


def test_a_script_prints_what_its_statements_return(capsys):
    env = StreamExecutionEnvironment.get_execution_environment()
    out = io.StringIO()
    print_results(
        env, TABLES + "SHOW TABLES; DESCRIBE shown; EXPLAIN SELECT n FROM numbers", None, out
    )
    answers, plan = out.getvalue().split("\n\n", 1)
    assert plan.startswith("mode STREAMING")
    assert answers.splitlines() == [
        "table name",
        "----------",
        "numbers",
        "shown",
        "name | type | key | time",
        "-----+------+-----+-----",
        "n    | INT  |     |",
        "Project n [insert-only]",
        "  Scan numbers [insert-only]",
    ]


def test_explain_shows_relations_and_plan(penstock, program):
    script = program(TABLES + "INSERT INTO shown SELECT n FROM numbers WHERE n > 1;", "job.sql")
    result = penstock("sql", script, "--explain")
    assert result.exit_code == 0
    assert result.stdout.startswith("Sink shown\n")
    assert "Scan numbers [insert-only]" in result.stdout
    assert "print" in result.stdout


def test_plan_of_a_script(penstock, program):
    script = program(TABLES + "INSERT INTO shown SELECT n FROM numbers;", "job.sql")
    result = penstock("plan", script)
    assert result.exit_code == 0
    assert "numbers" in result.stdout


def test_errors_name_the_file_and_the_place(penstock, program):
    script = program("SELECT\n  x FROM nothing", "job.sql")
    for command in ("sql", "plan", "run"):
        result = penstock(command, script)
        assert result.exit_code == 1
        assert "[SQL] there is no table 'nothing'" in result.stderr
        assert "job.sql, line 2, column 10" in result.stderr.replace("\n", "")


def test_explain_needs_a_script(penstock):
    assert penstock("sql", "--explain").exit_code == 2


class Typed(PipedLines):
    is_script = False


def shell(*lines: str) -> tuple[list[str], str]:
    out, told = io.StringIO(), io.StringIO()
    console = Console(file=told, width=200)
    env = StreamExecutionEnvironment.get_execution_environment()
    assert SqlShell(env, console, out).run(Typed(iter(lines))) == 0
    return out.getvalue().splitlines(), told.getvalue()


def test_the_shell_reads_statements_of_several_lines():
    out, _ = shell(
        "CREATE TABLE t (a INT)\n",
        "  WITH ('connector' = 'print', -- ;\n",
        "        'print-identifier' = ';');\n",
        "SHOW TABLES;\n",
        "quit;\n",
        "SHOW TABLES;\n",
    )
    assert out == ["table name", "----------", "t"]


def test_the_shell_goes_on_after_an_error():
    out, told = shell("SELEC 1;\n", "DESCRIBE nothing;\n", "help;\n", "SHOW VIEWS;\n")
    assert "the statement SELEC 1 is not supported (line 1, column 1)" in told
    assert "there is no table 'nothing'" in told
    assert "at: " not in told  # nobody wrote a program
    assert "Ctrl-C" in told
    assert out == ["view name", "---------"]


def test_a_pipe_ends_with_its_first_error(penstock):
    text = "CREATE TABLE t (a INT) WITH ('connector' = 'print');\nDESCRIBE nothing;\nSHOW TABLES;\n"
    result = penstock("sql", input=text)
    assert result.exit_code == 1
    assert "there is no table 'nothing'" in result.stderr
    assert "at: " not in result.stderr
    assert result.stdout == ""


def test_the_shell_forgets_what_was_typed_on_interrupt():
    class Interrupted(PipedLines):
        def next(self, prompt: str) -> str | None:
            found = super().next(prompt)
            if found == "^C":
                raise KeyboardInterrupt
            return found

    out, told = io.StringIO(), io.StringIO()
    env = StreamExecutionEnvironment.get_execution_environment()
    lines = Interrupted(iter(["SELECT\n", "^C", "SHOW TABLES;\n"]))
    assert SqlShell(env, Console(file=told), out).run(lines) == 0
    assert out.getvalue().splitlines() == ["table name", "----------"]


def test_typed_lines_complete_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("atexit.register", lambda *_: None)
    lines = TypedLines(tmp_path / "history")
    lines.complete_with(lambda: ("orders", "SELECT", "SET"))
    assert [lines._complete("se", n) for n in range(3)] == ["SELECT", "SET", None]
    assert lines._complete("ORD", 0) == "orders"
    monkeypatch.setattr("builtins.input", lambda _: (_ for _ in ()).throw(EOFError))
    assert lines.next("> ") is None


def test_a_pipe_needs_no_semicolon_at_its_end(penstock):
    text = "CREATE TABLE t (a INT) WITH ('connector' = 'print');\nSHOW TABLES"
    result = penstock("sql", input=text)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["table name", "----------", "t"]


@pytest.mark.parametrize("command", [("sql",), ("sql", "--explain"), ("run",)])
def test_a_script_in_another_encoding_is_told(penstock, tmp_path: Path, command: tuple[str, ...]):
    script = tmp_path / "job.sql"
    script.write_bytes("SHOW TABLES; -- ä".encode("utf-8-sig"))
    result = penstock(*command, str(script))
    assert (result.exit_code, "table name" in result.stdout) == (0, command != ("sql", "--explain"))
    script.write_bytes("SHOW TABLES; -- ä".encode("latin-1"))
    result = penstock(*command, str(script))
    assert result.exit_code == 1
    assert "is not UTF-8" in result.stderr
