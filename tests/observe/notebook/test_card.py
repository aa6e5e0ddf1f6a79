"""Cards: every text is escaped, in one place, and classes only say what there is to see."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.environment.job import JobExecutionResult, JobID, RunSummary
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import NumberSequenceSource
from penstock.observe.events.job_events import JobEnded, MicroBatch, RunStarted
from penstock.observe.events.job_view import JobView
from penstock.observe.notebook import live_job
from penstock.observe.notebook.card import Card, CardTable, ShownAsCard
from penstock.observe.notebook.live_job import LiveJob, job_card

NAME = '<script>alert("1")</script> & $x$'
SHOWN = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; $x$"
SOURCES = Path(live_job.__file__).parents[2]


def program() -> StreamExecutionEnvironment:
    settings = Configuration().set_string("pipeline.name", NAME).set_string("ui.token", "x" * 20)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = env.from_source(NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), NAME)
    numbers.map(lambda n: n).name(NAME).print().name(NAME)
    return env


def shown_objects() -> dict[str, Any]:
    env = program()
    stream = env.from_collection([1]).name(NAME)
    metrics = {NAME: 1}
    runs = (RunSummary(NAME, "live", 3, 0.5),)
    return {
        "environment": env,
        "stream": stream,
        "keyed stream": stream.key_by(lambda n: n),
        "plan": env.plan(),
        "result": JobExecutionResult(JobID(NAME), 5, runs, {NAME: 1}, metrics),
    }


@pytest.mark.parametrize("what", shown_objects())
def test_names_are_text(what: str) -> None:
    html = shown_objects()[what]._repr_html_()
    assert SHOWN in html
    assert "<script" not in html
    assert "mathjax_ignore" in html


def test_a_source_says_what_it_reads() -> None:
    html = NumberSequenceSource(1, 3)._repr_html_()
    assert "ends" in html


def test_secrets_are_not_shown() -> None:
    html = program()._repr_html_()
    assert "ui.token" in html
    assert "x" * 20 not in html


def test_html_is_made_in_one_place() -> None:
    """No class makes HTML of its own: whoever has `_repr_html_` has it from `ShownAsCard`."""
    found = [
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if re.search(r"def _repr_(html|mimebundle)_", path.read_text(encoding="utf-8"))
    ]
    assert found == ["observe/notebook/card.py"]


def test_every_part_of_a_card_is_escaped_and_bounded() -> None:
    table = CardTable(NAME, [NAME], [[NAME]] * 600)
    html = Card(NAME, {NAME: NAME}, NAME, (table,)).to_html()
    assert "<script" not in html
    assert html.count(SHOWN) == 1 + 2 + 1 + 1 + 1 + 500
    assert "and 100 more" in html
    assert len(Card("x" * 10_000).to_html()) < 3_000
    assert "\\udcff" in Card("\udcff").to_html()


def test_what_is_absent_is_not_shown() -> None:
    assert Card("", {"a": None}, tables=(CardTable("t", ["c"], []),)).to_html() == (
        '<div class="tex2jax_ignore mathjax_ignore"></div>'
    )
    assert Card("", {"a": None}, tables=(CardTable("t", ["c"], []),)).to_text() == ""


WHOSE: dict[str, Any] = {"job_id": "1", "job_name": NAME}


def view() -> JobView:
    error = {"code": "SINK", "problem": NAME}
    return JobView.of(
        [
            RunStarted("live", "live", NAME, False, **WHOSE),
            MicroBatch(0, 1_500, 1_500, 0.5, None, 4, **WHOSE),
            JobEnded("FAILED", error, **WHOSE),
        ]
    )


def test_a_job_is_shown_with_its_failure() -> None:
    card = job_card(view(), 0)
    html = card.to_html()
    assert "failed" in html
    assert "1,500" in html
    assert html.count(SHOWN) == 3
    assert "<script" not in html


class Handle:
    """What IPython's `display` returns."""

    def __init__(self, shown: ShownAsCard) -> None:
        self.outputs = [shown._repr_html_()]

    def update(self, shown: ShownAsCard) -> None:
        self.outputs.append(shown._repr_html_())


def test_a_live_view_is_one_output_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_job, "INTERVAL_SECONDS", 0.01)
    handles: list[Handle] = []

    def display(shown: ShownAsCard, *, display_id: bool) -> Handle:
        assert display_id
        handles.append(Handle(shown))
        return handles[-1]

    shown = LiveJob(display, "1", NAME)
    for number in range(200):
        shown.on_event(MicroBatch(number, 1, number, 0.5, None, **WHOSE))
    shown.on_event(JobEnded("FINISHED", **WHOSE))
    shown.close()
    (handle,) = handles
    assert "created" in handle.outputs[0]
    assert "finished" in handle.outputs[-1]
    assert len(handle.outputs) < 100, "not one per event"
    assert repr(shown).startswith(f"{NAME} · finished")


def test_an_end_between_two_updates_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_job, "INTERVAL_SECONDS", 60)
    handles: list[Handle] = []

    def display(shown: ShownAsCard, *, display_id: bool) -> Handle:
        handles.append(Handle(shown))
        return handles[-1]

    shown = LiveJob(display, "1", NAME)
    shown.on_event(MicroBatch(0, 1, 0, 0.5, None, **WHOSE))
    while len(handles[0].outputs) < 2:
        time.sleep(0.001)
    began = time.monotonic()
    shown.on_event(JobEnded("FINISHED", **WHOSE))
    shown.close()
    assert time.monotonic() - began < 30
    assert "finished" in handles[0].outputs[-1]


def test_a_view_that_cannot_be_shown_leaves_the_job_alone(caplog: Any) -> None:
    class Broken(Handle):
        def update(self, shown: ShownAsCard) -> None:
            raise OSError("the kernel is gone")

    made = LiveJob(lambda shown, **_: Broken(shown), "1", "job")
    made.on_event(JobEnded("FINISHED", **WHOSE))
    made.close()
    assert "the kernel is gone" in caplog.text


def test_only_a_kernel_is_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert live_job.display_of_notebook() is None
    terminal = SimpleNamespace(get_ipython=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert live_job.display_of_notebook() is None
    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(
        sys.modules,
        "IPython.display",
        SimpleNamespace(display=json),
    )
    assert live_job.display_of_notebook() is json
    assert live_job.shows_jobs()
    with live_job.unseen():
        assert not live_job.shows_jobs()
        assert live_job.live_job("1", "a sample") is None
    assert live_job.shows_jobs()
