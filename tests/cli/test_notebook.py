"""What a notebook shows of an error: the cell's line, none of our frames, the error once.

IPython asks an exception for `_render_traceback_` and prints the lines it returns. A cell is code
whose file name is in `linecache` alone.
"""

from __future__ import annotations

import linecache
import sys
from types import SimpleNamespace

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import CallSite, PenstockError

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


def test_frames_that_have_no_file_are_left_out():
    with pytest.raises(PenstockError) as caught:
        StreamExecutionEnvironment.get_execution_environment(Configuration()).execute()
    text = "\n".join(caught.value._render_traceback_())
    assert "[GRAPH_EMPTY]" in text
    assert "<string>" not in text


def test_cells_are_called_as_the_notebook_calls_them(monkeypatch):
    """Frames, the line at fault and the line that created the operator."""
    names = {"/tmp/ipykernel_8/1.py": ("Cell", "In[7]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    notebook = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    error = PenstockError(
        'failed\n  File "/tmp/ipykernel_8/1.py", line 2, in half\n    10 / n',
        hint="It was created at /tmp/ipykernel_8/1.py:4 in <module>, not at job.py:3 in f.",
        origin=CallSite("/tmp/ipykernel_8/1.py", 2, "half"),
    )
    assert error._render_traceback_()[1:] == [
        "  Cell In[7], line 2, in half",
        "    10 / n",
        "  fix: It was created at Cell In[7], line 4 in <module>, not at job.py:3 in f.",
        "  at: Cell In[7], line 2 in half",
    ]


def test_an_error_that_was_never_raised_has_no_traceback_to_show():
    error = PenstockError("p", hint="h")
    assert error._render_traceback_() == ["penstock.errors.PenstockError: [PENSTOCK] p", "  fix: h"]
