"""The chapter about notebooks, run by a kernel; and what an interrupt does to a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

CHAPTER = Path(__file__).parents[2] / "examples" / "notebook.ipynb"

pytestmark = pytest.mark.spark

ENDLESS = """\
import os, signal
from penstock.observe.events.job_events import MicroBatch
from penstock.observe.events.listeners import JobListener, also_listening

class Interrupt(JobListener):
    def on_event(self, event):
        if isinstance(event, MicroBatch) and event.number == 1:
            os.kill(os.getpid(), signal.SIGINT)  # as the button of the notebook does

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, DiscardingSink
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(
    DataGeneratorSource(lambda n: n, count=None), WatermarkStrategy.no_watermarks(), "numbers"
)
numbers.sink_to(DiscardingSink())
with also_listening(Interrupt()):
    env.execute("endless")
"""
AFTERWARDS = """\
import re, threading
names = [each.name for each in threading.enumerate()]
print([name for name in names if re.fullmatch("penstock-(notebook|[0-9a-f]{16})", name)])
"""


def client_of(notebook: Any) -> Any:
    return nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3")


def outputs(cell: Any, kind: str) -> list[str]:
    """Return what a cell shows of a media type, or `stdout`."""
    if kind == "stdout":
        return [each.text for each in cell.outputs if each.get("name") == "stdout"]
    return ["".join(each.data[kind]) for each in cell.outputs if kind in each.get("data", {})]


@pytest.fixture(scope="module")
def chapter() -> list[Any]:
    notebook = nbformat.read(CHAPTER, as_version=4)
    client_of(notebook).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_chapter_is_kept_without_outputs() -> None:
    notebook = nbformat.read(CHAPTER, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)


def test_objects_are_shown(chapter: list[Any]) -> None:
    environment, stream, shown, taken, plan, *_ = chapter
    assert "parallelism.default" in outputs(environment, "text/html")[0]
    assert "pairs" in outputs(stream, "text/html")[0]
    assert outputs(shown, "text/html")[0].count("<tr>") == 1 + 5
    assert outputs(taken, "text/plain") == ["3"]
    assert "decisions" in outputs(plan, "text/html")[0]


def test_a_job_has_one_live_view_and_a_result(chapter: list[Any]) -> None:
    *_, begun, result, state = chapter
    (view,) = outputs(begun, "text/html")
    assert "totals · " in view
    assert "job result" in outputs(result, "text/html")[0]
    assert "even" in outputs(state, "text/html")[0]


def test_an_interrupt_stops_the_job() -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in (ENDLESS, AFTERWARDS)]
    cells[0].metadata["tags"] = ["raises-exception"]
    client = client_of(nbformat.v4.new_notebook(cells=cells))

    client.execute()
    (error,) = [each for each in cells[0].outputs if each.output_type == "error"]
    assert error.ename == "KeyboardInterrupt"
    (view,) = outputs(cells[0], "text/html")
    assert "endless · " in view
    assert "running" not in view
    assert outputs(cells[1], "stdout") == ["[]\n"], "no thread of the job is left"
