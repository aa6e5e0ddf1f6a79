"""What a notebook shows of an error: the cell's line, none of our frames, the error once.

IPython asks an exception for `_render_traceback_` and prints the lines it returns. A cell is code
whose file name is in `linecache` alone.
"""

from __future__ import annotations

import linecache

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError

CELL = """\
env = StreamExecutionEnvironment.get_execution_environment(Configuration())
numbers = env.from_collection([1, 2, 3])
numbers.map(42)
"""


def test_a_notebook_shows_the_line_of_the_cell_and_no_frames_of_ours(monkeypatch):
    lines = CELL.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<cell-7>", (len(CELL), None, lines, "<cell-7>"))
    names = {
        "StreamExecutionEnvironment": StreamExecutionEnvironment,
        "Configuration": Configuration,
    }
    with pytest.raises(PenstockError) as caught:
        exec(compile(CELL, "<cell-7>", "exec"), names)  # noqa: S102 - a cell
    text = "\n".join(caught.value._render_traceback_())
    assert "    numbers.map(42)\n" in text
    assert "data_stream.py" not in text
    assert "user_code.py" not in text
    assert text.count("[GRAPH_ARGUMENT]") == 1
    assert text.startswith("Traceback (most recent call last):\n")


def test_an_error_that_was_never_raised_has_no_traceback_to_show():
    error = PenstockError("p", hint="h")
    assert error._render_traceback_() == ["penstock.errors.PenstockError: [PENSTOCK] p", "  fix: h"]
