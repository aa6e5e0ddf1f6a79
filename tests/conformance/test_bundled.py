"""PyFlink's own example programs, from its wheel: the import is changed, nothing else."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter

import pytest

from penstock.api.environment import job
from penstock.common import Row, Types
from tests.conformance.bundled import VARIABLE, examples
from tests.conformance.in_process_executor import InProcessExecutor
from tests.conformance.porting import ported, run_program
from tests.conformance.tables import module_with

DIRECTORY = examples()

pytestmark = pytest.mark.skipif(
    DIRECTORY is None,
    reason=f"no PyFlink examples: install apache-flink, or name their directory in {VARIABLE}",
)


@pytest.fixture
def lines(monkeypatch, capsys):
    """Return a function that runs an example in process and returns what its sinks printed."""
    monkeypatch.setitem(job.EXECUTORS, "spark", f"{__name__}:InProcessExecutor")

    def run(name, *arguments):
        assert DIRECTORY is not None
        program = (DIRECTORY / name).read_text()
        run_program(ported(program), name, arguments)
        return [line for line in capsys.readouterr().out.splitlines() if line]

    return run


def without_subtask(printed):
    """Drop `2> ` from every line."""
    return sorted(line.split("> ", 1)[-1] for line in printed)


def test_the_executor_is_found():
    assert InProcessExecutor.__module__ == __name__.replace("test_bundled", "in_process_executor")


def counted_words():
    """Count the words of the example's text by other means."""
    assert DIRECTORY is not None
    tree = ast.parse((DIRECTORY / "word_count.py").read_text())
    texts = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    return Counter(word for line in ast.literal_eval(texts) for word in line.split())


def test_word_count(lines):
    printed = lines("word_count.py")
    pairs = [line[1:-1].rsplit(",", 1) for line in printed if line.startswith("(")]
    assert len(pairs) > 100
    assert {word: int(count) for word, count in pairs} == counted_words()
    assert len(pairs) == len(counted_words())


def test_word_count_into_files(lines, tmp_path):
    lines("word_count.py", "--output", str(tmp_path / "out"))
    files = [path for path in (tmp_path / "out").glob("[!_]*/*") if path.is_file()]
    assert files
    assert all(path.name.startswith("prefix") and path.name.endswith(".ext") for path in files)
    found = [line for path in files for line in path.read_text().splitlines()]
    assert len(found) == len(counted_words())


def test_process_json_data(lines):
    found = [ast.literal_eval(line) for line in without_subtask(lines("process_json_data.py"))]
    assert [(number, data["tel"]) for number, data in found] == [(2, 136), (4, 33)]


def test_basic_operations(lines):
    printed = list(map(ast.literal_eval, lines("basic_operations.py")))
    phones = [(number, json.loads(info)["tel"]) for number, info in printed[:5]]
    assert phones == [(1, 124), (2, 136), (3, 125), (4, 33), (1, 124)]
    assert sorted(printed[5:]) == [("China", 135), ("China", 167), ("Germany", 123), ("USA", 124)]


def test_state_access(lines):
    found = [ast.literal_eval(line) for line in without_subtask(lines("state_access.py"))]
    last: dict[str, float] = {}
    for name, total in found:
        last[name] = max(total, last.get(name, 0))
    assert {name: round(total, 1) for name, total in last.items()} == {
        "Alice": 163.3,
        "Bob": 102.5,
    }


def test_event_time_timer(lines):
    found = [ast.literal_eval(line) for line in without_subtask(lines("event_time_timer.py"))]
    assert sorted(name for name, _ in found) == ["Alice"] * 4 + ["Bob"] * 4


WINDOWS = {
    "tumbling_count_window.py": ["(hello,12)", "(hello,6)", "(hi,4)"],
    "tumbling_time_window.py": ["(hi,0,5,4)", "(hi,15,20,1)", "(hi,5,10,3)"],
    "sliding_time_window.py": [
        "(hi,-2,3,2)",
        "(hi,0,5,4)",
        "(hi,12,17,1)",
        "(hi,14,19,1)",
        "(hi,2,7,4)",
        "(hi,4,9,3)",
        "(hi,6,11,2)",
        "(hi,8,13,2)",
    ],
    "session_with_gap_window.py": ["(hi,1,14,6)", "(hi,15,20,1)"],
    "session_with_dynamic_gap_window.py": ["(hi,1,30,7)"],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(lines, name):
    printed = lines(f"windowing/{name}")
    assert sorted(line for line in printed if line.startswith("(")) == WINDOWS[name]


def test_streaming_word_count(lines, monkeypatch):
    typed = Types.ROW_NAMED(["word_id"], [Types.INT()])
    module = module_with([Row(word_id=number) for number in (1, 0, 1, 1)], typed)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    printed = without_subtask(lines("streaming_word_count.py"))
    assert [line for line in printed if line.startswith("(")] == [
        "(flink,1)",
        "(window,1)",
        "(window,2)",
        "(window,3)",
    ]
