"""The page in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from penstock.errors import SavepointError
from penstock.metrics.job_metrics import LATE_RECORDS
from penstock.metrics.values import CounterValue, MetricValue
from penstock.observe.events.job_events import JobEnded, JobEvent, MetricsReported
from penstock.observe.events.job_view import JobView
from penstock.observe.ui import event_stream
from penstock.observe.ui.access import own_names
from penstock.observe.ui.job_controls import Answer, JobAction, JobControls
from penstock.observe.ui.server import UiServer
from tests.observe.ui.watched_page import watched_page
from tools.support.shown_jobs import (
    MICRO_BATCHES,
    OPERATORS,
    WHOSE,
    grow,
    large_job,
    story,
    upgraded,
)

JOB_ID = WHOSE["job_id"]
PATIENCE_MS = 10_000


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "INTERVAL_SECONDS", 0.05)


@contextmanager
def served(view: JobView, controls: JobControls | None = None) -> Iterator[UiServer]:
    server = UiServer(lambda: [view], "127.0.0.1", 0, own_names(), controls)
    try:
        yield server
    finally:
        server.close()


# Functions, not expressions: those would be evaluated as text again and again, which the page's policy forbids.
def waits_for(page: Any, selector: str, text: str) -> None:
    """Wait until an element has a text."""
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)",
        arg=[selector, text],
        timeout=PATIENCE_MS,
    )


def test_a_job_that_fails_restarts_and_switches(chromium: Any) -> None:
    events = list(story())
    failed, switched = (
        next(at for at, event in enumerate(events) if type(event).__name__ == name)
        for name in ("Restarting", "Switched")
    )
    view = JobView.of(events[:failed])
    with served(view) as server, watched_page(chromium, server.url) as page:
        waits_for(page, "#status", "running")
        waits_for(page, "#runs", "37 %")
        waits_for(page, "#runs", "left")
        waits_for(page, "#runs", "104,000 records")
        waits_for(page, "#facts", "104,000 records read")
        waits_for(page, "#no-operators", "when history is through")
        expect(page.locator("#failure")).to_be_hidden()
        expect(page.locator("#graph .node")).to_have_count(8)

        view.on_event(events[failed])
        waits_for(page, "#status", "restarting")
        failure = page.locator("#failure")
        failure.wait_for(state="visible")
        for part in (
            "USER_FUNCTION",
            "delay per carrier",
            "('UA', 'NA')",
            "job.py:31",
            "1 restart",
        ):
            waits_for(page, "#failure", part)
        top = failure.bounding_box()["y"]
        assert top < page.locator("#runs").bounding_box()["y"], "above all else"
        assert "failure past" not in page.locator("#failure").get_attribute("class")

        for event in events[failed + 1 : switched + 1]:
            view.on_event(event)
        waits_for(page, "#runs", "switch")
        below = page.locator("#failure").bounding_box()["y"]
        assert below > page.locator("#runs").bounding_box()["y"], "the job has gone on since"
        waits_for(page, "#runs", "276,000 records")
        for event in events[switched + 1 :]:
            view.on_event(event)
        waits_for(page, "#runs", "micro-batch 63")
        expect(page.locator("#batches svg g")).to_have_count(60)
        expect(page.locator("#operators tr")).to_have_count(4)
        waits_for(page, "#savepoints", "18.4 MB")

        view.on_event(JobEnded("FINISHED", **WHOSE))
        waits_for(page, "#status", "finished")
    assert view.status == "FINISHED"


def test_an_upgrade_is_a_second_time_line_that_meets_the_first(chromium: Any) -> None:
    now = time.time_ns() // 1_000_000
    events = [list(upgraded(now, until=until)) for until in ("history", "rounds", "live")]
    view = JobView.of(events[0])
    with served(view) as server, watched_page(chromium, server.url) as page:
        waits_for(page, "#rounds", "180,000 records")
        for text in ("round 0", "62 %", "18,000/s", "reads the history"):
            waits_for(page, "#rounds", text)
        expect(page.locator("#meeting circle")).to_have_count(0)
        for event in events[1][len(events[0]) :]:
            view.on_event(event)
        waits_for(page, "#rounds", "behind the old job by 4 files of flights")
        waits_for(page, "#rounds", "reads what the old job has read meanwhile")
        for event in events[2][len(events[1]) :]:
            view.on_event(event)
        waits_for(page, "#rounds", "at the position of the old job, which has stopped")
        waits_for(page, "#met", "they meet at ")
        waits_for(page, "#met", "the job paused for 2.7 s")
        expect(page.locator("#meeting circle")).to_have_count(1)
        job, new = (
            page.locator(f"#meeting .{name}").get_attribute("points").split()
            for name in ("job", "new")
        )
        assert (
            new[-1].split(",")[1]
            == job[-1].split(",")[1]
            == min((point.split(",")[1] for point in new), key=float)
        ), "both lines end at the same position, the highest one"
    with served(JobView.of(story())) as server, watched_page(chromium, server.url) as page:
        waits_for(page, "#runs", "micro-batch")
        expect(page.locator("#new-part")).to_be_hidden()


def test_what_operators_sources_and_sinks_report_is_shown(chromium: Any) -> None:
    with served(JobView.of(story())) as server, watched_page(chromium, server.url) as page:
        waits_for(page, "#sources", "flights: ")
        waits_for(page, "#state", "of changes were logged")
        operators = page.locator("#operators").inner_text()
        assert "subtask 2 of 4 is hot: it gets 60 % of the records" in operators
        assert "combined before the exchange: 270,000 to 384" in operators
        assert re.search(r"lags \d", operators)
        waits_for(page, "#sinks", "delays-files")
        waits_for(page, "#inputs", "most behind of flights: live-3 lags")
        waits_for(page, "#inputs", "waiting in flights: live-3 800, live-1 300, live-2 100")
        page.locator("#decisions-details summary").click()
        waits_for(page, "#decisions", "folded before the exchange, by key group")
        assert "16 keys" in operators
        assert page.locator("#graph .hot text").first.text_content() == "delay per carrier"
        hottest = page.locator("#graph .heat-4 text").first.text_content()
        assert hottest == "delay per carrier"


def test_late_records_are_shown_with_their_operator(chromium: Any) -> None:
    late: dict[str, MetricValue] = {f"delays.{LATE_RECORDS}": CounterValue(1_234)}
    events = [
        replace(each, metrics={**each.metrics, **late})
        if isinstance(each, MetricsReported)
        else each
        for each in story()
    ]
    with served(JobView.of(events)) as server, watched_page(chromium, server.url) as page:
        waits_for(page, "#operators", "late records dropped: 1,234")
        assert page.locator("#operators .late").count() == 1


def test_speeds_are_on_the_edges(chromium: Any) -> None:
    events = list(story())
    view = JobView.of(events[:-3])
    with served(view) as server, watched_page(chromium, server.url) as page:
        page.wait_for_selector("#graph svg")
        for event in events[-3:]:
            view.on_event(event)
        page.wait_for_function(
            "() => [...document.querySelectorAll('#graph .rate')].filter((e) => e.textContent.includes('/s')).length >= 3",
            timeout=PATIENCE_MS,
        )
        waits_for(page, "#operators", "/s")


def test_the_end_of_the_server_is_told(chromium: Any) -> None:
    view = JobView.of(story())
    with served(view) as server, watched_page(chromium, server.url) as page:
        waits_for(page, "#status", "running")
        view.on_event(JobEnded("FINISHED", **WHOSE))
        server.close()
        waits_for(page, "#facts", "the server of this page has ended")
        expect(page.locator("#status")).to_have_text("finished")


def test_names_of_users_are_text(chromium: Any) -> None:
    name = '</script><img src=x onerror="alert(1)"><b>totals'
    view = JobView.of(story(name=name))
    with served(view) as server, watched_page(chromium, server.url) as page:
        page.on("dialog", lambda _: pytest.fail("a name was run"))
        waits_for(page, "#name", name)
        expect(page.locator("img")).to_have_count(0)


def test_a_page_can_be_read_with_the_keyboard(chromium: Any) -> None:
    controls = JobControls()
    controls.add(JOB_ID, dict.fromkeys(JobAction, Future[None]))
    view = JobView.of(story())
    with served(view, controls) as server, watched_page(chromium, server.secret_url) as page:
        page.wait_for_selector("#graph svg")
        page.wait_for_selector("#savepoint")
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
                )
            )
        expected = ["skip", "savepoint", "stop-with-savepoint", "stop", "graph", "SUMMARY"]
        assert [each for each in reached if each in expected][: len(expected)] == expected
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", "who uses the keyboard sees where it is"
        page.locator("#settings-details summary").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#settings")).to_be_visible()
        waits_for(page, "#settings", "parallelism.default")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize(
    ("scheme", "told"), [("light", story), ("dark", story), ("dark", upgraded)]
)
def test_a_page_of_400_pixels_does_not_scroll_sideways(
    chromium: Any, scheme: str, told: Callable[[], Iterator[JobEvent]]
) -> None:
    view = JobView.of(told())
    with (
        served(view) as server,
        watched_page(chromium, server.url, width=400, scheme=scheme) as page,
    ):
        page.wait_for_selector("#graph svg")
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.locator("#graph").evaluate("(e) => e.clientWidth") <= 400
        # At once: the graph is drawn anew with every report.
        is_whole = page.locator("#graph").evaluate("""(graph) => {
            const place = graph.getBoundingClientRect();
            return [...graph.querySelectorAll(".node")].map((node) => {
                const box = node.getBoundingClientRect();
                return place.left <= box.left && box.right <= place.right;
            });
        }""")
        assert is_whole == [True] * 8


def test_a_graph_that_is_too_wide_opens_at_its_left(chromium: Any) -> None:
    view = large_job()
    with served(view) as server, watched_page(chromium, server.url, width=400) as page:
        page.wait_for_selector("#graph svg")
        hidden, left = page.locator("#graph").evaluate(
            "(e) => [e.scrollWidth - e.clientWidth, e.scrollLeft]"
        )
        assert hidden > 0
        assert left == 0


def luminance(colour: str) -> float:
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_ground(chromium: Any, scheme: str) -> None:
    view = JobView.of(story())
    grounds = {}
    with served(view) as server, watched_page(chromium, server.url, scheme=scheme) as page:
        page.wait_for_selector("#graph svg")
        for text, ground in (
            ("#name", "body"),
            ("#facts", "body"),
            ("#status", "body"),
            ("#failure-problem", "#failure"),
            ("#operators-title", "section:last-of-type"),
            (".runs .small", "section:last-of-type"),
        ):
            # In one step: an update of the page replaces elements.
            colour, under = page.evaluate(
                "([text, ground]) => [getComputedStyle(document.querySelector(text)).color,"
                " getComputedStyle(document.querySelector(ground)).backgroundColor]",
                [text, ground],
            )
            light, dark = sorted((luminance(colour), luminance(under)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, text
            grounds[ground] = luminance(under)
    assert (grounds["body"] < 0.2) == (scheme == "dark")


def test_a_large_job_is_drawn_in_under_a_second_and_holds_memory(chromium: Any) -> None:
    view = large_job()
    with served(view) as server, watched_page(chromium, server.url) as page:
        # The best of some: what else the machine does is not the page's time.
        assert min(drawn_ms(page) for _ in range(6)) < 1_000
        expect(page.locator("#graph .node")).to_have_count(OPERATORS + 2)
        session = page.context.new_cdp_session(page)
        used = [memory(page, session, view, 40 * (1 + each)) for each in range(4)]
        assert used[3]["JSHeapUsedSize"] - used[1]["JSHeapUsedSize"] < 2_000_000
        # An update that stayed would be hundreds of nodes, 80 times.
        assert used[3]["Nodes"] <= used[1]["Nodes"] * 2
    assert len(view.runs[-1].micro_batches) <= 120


def drawn_ms(page: Any) -> float:
    """Open the page again, and return after how many milliseconds its graph was there."""
    page.reload()
    page.wait_for_selector("#graph svg")
    found: float = page.evaluate("() => performance.getEntriesByName('drawn')[0].startTime")
    return found


def memory(page: Any, session: Any, view: JobView, until: int) -> dict[str, float]:
    """Return what the page holds after many further micro-batches."""
    for number in range(until - 40, until):
        grow(view, MICRO_BATCHES + number, time.time_ns() // 1_000_000)
        page.wait_for_timeout(20)
    waits_for(page, "#runs", f"micro-batch {MICRO_BATCHES + until - 1:,}")
    session.send("Performance.enable")
    samples: list[dict[str, float]] = []
    for _ in range(4):  # what was replaced since the last collection is still counted
        session.send("HeapProfiler.collectGarbage")
        found = session.send("Performance.getMetrics")["metrics"]
        samples.append({each["name"]: each["value"] for each in found})
        page.wait_for_timeout(50)
    return {name: min(sample[name] for sample in samples) for name in ("JSHeapUsedSize", "Nodes")}


class Control:
    """A job that is asked."""

    def __init__(self) -> None:
        self.asked: list[JobAction] = []
        self.answer: Future[None] = Future()
        self.controls = JobControls()
        self.controls.add(JOB_ID, {action: self.begin(action) for action in JobAction})

    def begin(self, action: JobAction) -> Callable[[], Answer]:
        def begun() -> Answer:
            self.asked.append(action)
            return self.answer

        return begun


def test_buttons_ask_and_say_what_became_of_it(chromium: Any) -> None:
    control = Control()
    view = JobView.of(story())
    with (
        served(view, control.controls) as server,
        watched_page(chromium, server.secret_url) as page,
    ):
        page.locator("#savepoint").click()
        waits_for(page, "#told", "it comes with the next micro-batch")
        page.wait_for_function("() => document.getElementById('savepoint').disabled")
        assert control.asked == [JobAction.SAVEPOINT]
        control.answer.set_exception(SavepointError("the disk is full", hint="Make room."))
        waits_for(page, "#told", "the disk is full")
        page.wait_for_function("() => !document.getElementById('savepoint').disabled")

        page.once("dialog", lambda dialog: dialog.dismiss())
        page.locator("#stop").click()
        assert control.asked == [JobAction.SAVEPOINT], "it was not confirmed"
        page.once("dialog", lambda dialog: dialog.accept())
        control.answer = Future()
        page.locator("#stop").click()
        waits_for(page, "#told", "stop requested")
        assert control.asked == [JobAction.SAVEPOINT, JobAction.STOP]


def test_the_token_is_not_in_the_address_and_lasts_for_the_tab(chromium: Any) -> None:
    control = Control()
    view = JobView.of(story())
    with served(view, control.controls) as server:
        with watched_page(chromium, server.secret_url) as page:
            page.locator("#savepoint").wait_for(state="visible")
            assert page.url == f"{server.url}/"
            page.reload()
            page.locator("#savepoint").wait_for(state="visible")
            assert "token" not in page.content()
        with watched_page(chromium, server.url) as page:
            waits_for(page, "#told", "Open the address that the server has printed")
            expect(page.locator("#savepoint")).to_be_hidden()


def test_a_token_that_is_not_valid_any_more_is_told(chromium: Any) -> None:
    control = Control()
    view = JobView.of(story())
    with served(view, control.controls) as server:
        page = chromium.new_page()
        page.goto(f"{server.url}/#token=of-an-earlier-server")
        page.locator("#savepoint").click()
        waits_for(page, "#told", "not that of this server")
        page.close()
    assert control.asked == []
