"""The page: what it is made of, and what it is told, asked with real requests."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock.errors import JobDirectoryError
from penstock.observe.events.job_events import (
    JobEnded,
    JobStarted,
    MetricsReported,
    MicroBatch,
    RunStarted,
    SavepointTaken,
)
from penstock.observe.events.job_view import JobView
from penstock.observe.ui import event_stream
from penstock.observe.ui.access import own_names
from penstock.observe.ui.event_stream import page_json
from penstock.observe.ui.graph_layout import layout_of
from penstock.observe.ui.server import HEADERS, PAGE_FILES, UiServer

NAME = "</script><b>totals\n\nevent: status"
STATIC = files("penstock.observe.ui") / "static"
MOST_BYTES = 100_000


def node(number: int, kind: str = "map", name: str = "") -> dict[str, Any]:
    uid = name or f"u{number}"
    return {"id": f"n{number}", "kind": kind, "uid": uid, "name": uid, "level": 0, "origin": ""}


def edge(source: int, target: int, ship: str = "CHAINED", tag: str = "") -> dict[str, Any]:
    return {"source": f"n{source}", "target": f"n{target}", "ship": ship, "tag": tag}


NODES = [node(0, "source"), node(1, name=NAME), node(2), node(3), node(4, "sink")]
EDGES = [edge(0, 1), edge(1, 2, "HASH"), edge(1, 3, "HASH", "late"), edge(2, 4), edge(3, 4)]


def job(job_id: str, name: str) -> JobView:
    whose: dict[str, Any] = {"job_id": job_id, "job_name": name}
    return JobView.of(
        [
            JobStarted("0", "STREAMING", 2, {"a": "b"}, NODES, EDGES, "the plan", **whose),
            RunStarted("live", "live", "numbers", False, **whose),
            MicroBatch(0, 3, 3, 0.5, None, 4, None, None, {"job": 0.5}, **whose),
        ]
    )


JOBS = [job("1", "first"), job("2", NAME)]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(event_stream, "INTERVAL_SECONDS", 0.05)
    made = UiServer(lambda: JOBS, "127.0.0.1", 0, own_names())
    yield made.url
    made.close()


def opened(url: str, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request("GET", path)
    return connection, connection.getresponse()


def events(url: str, path: str, count: int) -> list[tuple[str, Any]]:
    connection, answer = opened(url, path)
    assert answer.status == 200
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    found: list[tuple[str, Any]] = []
    while len(found) < count:
        name, data, end = (answer.readline().decode() for _ in range(3))
        assert end == "\n"
        assert name.startswith("event: ")
        assert data.startswith("data: ")
        found.append((name[7:-1], json.loads(data[6:])))
    connection.close()
    return found


def status_of(url: str) -> int:
    connection, answer = opened(url, "/events")
    status = answer.status
    answer.close()
    connection.close()
    return status


def test_files_have_their_types_and_headers(url: str) -> None:
    for name, kind in PAGE_FILES.items():
        connection, answer = opened(url, "/" if name == "index.html" else f"/{name}")
        assert answer.status == 200
        assert answer.getheader("content-type") == kind
        assert answer.getheader("content-security-policy") == HEADERS["Content-Security-Policy"]
        assert answer.read() == (STATIC / name).read_bytes()
        connection.close()


def test_the_page_is_small() -> None:
    assert sum(len((STATIC / name).read_bytes()) for name in PAGE_FILES) < MOST_BYTES


def test_nothing_from_outside_is_loaded() -> None:
    for name in ("index.html", "page.css", "page.js"):
        text = (STATIC / name).read_text(encoding="utf-8")
        addresses = set(re.findall(r"https?://[^\s\"']+|url\([^)]*\)|@import", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name


def test_what_the_policy_forbids_is_not_used() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\ssrc=)", page) == []
    assert re.findall(r"\son\w+=|\sstyle=|javascript:|<style", page) == []
    script = (STATIC / "page.js").read_text(encoding="utf-8")
    assert (
        re.findall(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|\.style\b(?!\.setProperty\()",
            script,
        )
        == []
    )
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_all_that_the_script_fills_is_in_the_page() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    script = (STATIC / "page.js").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:byId|fill|show)\(\"([\w-]+)\"", script))
    assert len(named) > 15
    assert named <= set(re.findall(r"\sid=\"([\w-]+)\"", page))


def test_the_plan_is_told_once_and_the_status_again_and_again(url: str) -> None:
    found = events(url, "/events?job=1", 4)
    assert [name for name, _ in found] == ["plan", "status", "status", "status"]
    plan, status = found[0][1], found[1][1]
    assert (plan["plan"], plan["settings"], plan["parallelism"]) == ("the plan", {"a": "b"}, 2)
    assert (status["name"], status["status"]) == ("first", "RUNNING")
    assert status["micro_batches"] == [
        {"number": 0, "records": 3, "seconds": 0.5, "durations": {"job": 0.5}}
    ]
    assert [each["id"] for each in status["jobs"]] == ["1", "2"]


def test_names_of_users_cannot_end_an_event(url: str) -> None:
    """Without a job the last one is shown; its name has line breaks."""
    _, status = events(url, "/events", 2)[1]
    assert status["name"] == NAME
    assert events(url, "/events?job=none", 2)[1][1]["name"] == NAME


def test_a_job_that_has_begun_again_tells_its_plan_again(url: str) -> None:
    connection, answer = opened(url, "/events?job=1")
    names = []
    view = JOBS[0]
    began = view.started
    try:
        for _ in range(12):
            line = answer.readline().decode()
            if line.startswith("event"):
                names.append(line[7:-1])
            if len(names) == 2 and view.started is began:
                view.on_event(JobEnded("FAILED", job_id="1", job_name="first"))
                view.on_event(
                    JobStarted("0", "BATCH", 2, job_id="1", job_name="first", at_ms=9_000)
                )
    finally:
        JOBS[0] = job("1", "first")
        connection.close()
    assert names[:2] == ["plan", "status"]
    assert "plan" in names[2:]


def test_who_stops_looking_costs_nothing_and_too_many_are_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MOST_STREAMS", 2)
    connections = [opened(url, "/events") for _ in range(2)]
    for _, answer in connections:
        answer.readline()
    assert status_of(url) == 503
    for connection, answer in connections:
        answer.close()
        connection.close()
    deadline = time.monotonic() + 10
    while status_of(url) != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_many_that_ask_at_the_same_moment_are_not_too_many(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MOST_STREAMS", 3)
    parts = urlsplit(url)
    asking = [http.client.HTTPConnection(parts.hostname or "", parts.port) for _ in range(12)]
    for each in asking:
        each.connect()
    for each in asking:
        each.request("GET", "/events")
    begun = []
    for each in asking:
        answer = each.getresponse()
        line = answer.readline() if answer.status == 200 else b""
        begun.append(line.startswith(b"event"))
        if not begun[-1]:
            assert answer.status in {200, 503}
    for each in asking:
        each.close()
    assert sum(begun) == 3


def test_head_is_answered_and_is_no_stream(url: str) -> None:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    for _ in range(2):  # the connection is free again
        connection.request("HEAD", "/events")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
        answer.read()
    connection.close()


def test_a_directory_that_is_gone_is_told_and_the_stream_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "INTERVAL_SECONDS", 0.05)
    gone = [JobDirectoryError("it is gone", hint="Look for it."), None]

    def views() -> list[JobView]:
        error = gone.pop(0) if gone else None
        if error is not None:
            raise error
        return JOBS

    made = UiServer(views, "127.0.0.1", 0, own_names())
    try:
        found = events(made.url, "/events?job=1", 3)
        gone.append(JobDirectoryError("it is gone", hint="Look for it."))
        connection, answer = opened(made.url, "/status")
        assert (answer.status, answer.read()) == (503, b"it is gone\n")
        connection.close()
    finally:
        made.close()
    assert found[0] == ("problem", {"problem": "it is gone", "hint": "Look for it."})
    assert [name for name, _ in found[1:]] == ["plan", "status"]


def test_who_looks_is_told_how_it_ended() -> None:
    """Also when it ended within the second before the process did."""
    view = job("1", "first")
    made = UiServer(lambda: [view], "127.0.0.1", 0, own_names())
    connection, answer = opened(made.url, "/events")
    for _ in range(6):
        answer.readline()
    view.on_event(JobEnded("FINISHED", job_id="1", job_name="first"))
    made.close()
    told = answer.read().decode().split("\n\n")
    connection.close()
    assert [each.partition("\n")[0] for each in told] == ["event: status", "event: end", ""]
    assert json.loads(told[0].partition("data: ")[2])["status"] == "FINISHED"


def test_names_that_no_encoding_knows_are_answered() -> None:
    """A file name may have bytes that are no text."""
    odd = job("3", "b\udcffd")
    made = UiServer(lambda: [odd], "127.0.0.1", 0, own_names())
    try:
        assert events(made.url, "/events", 2)[1][1]["name"] == "b\udcffd"
        connection, answer = opened(made.url, "/status")
        assert json.loads(answer.read())[0]["name"] == "b\udcffd"
        connection.close()
        connection, answer = opened(made.url, "/metrics")
        assert answer.status == 200
        assert rb'job_name="b\\udcffd"' in answer.read()
        connection.close()
    finally:
        made.close()


def test_a_job_that_restarts_for_ever_is_told_in_few_bytes() -> None:
    view = job("1", "first")
    for number in range(500):
        view.on_event(RunStarted("live", "live", "numbers", False, job_id="1", job_name="first"))
        view.on_event(
            MicroBatch(number, 3, 3, 0.5, None, job_id="1", job_name="first", at_ms=number)
        )
    assert len(json.dumps(page_json(view, [view], 1_000))) < 40_000
    assert view.records() == 501 * 3


def test_nothing_is_computed_while_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    made = UiServer(lambda: asked.append(1) or JOBS, "127.0.0.1", 0, own_names())  # type: ignore[func-returns-value]
    time.sleep(0.3)
    made.close()
    assert asked == []


def test_a_layout_has_no_overlap_and_its_edges_reach_their_nodes() -> None:
    layout = layout_of(NODES, EDGES)
    boxes = {each["id"]: each for each in layout["nodes"]}
    for one in boxes.values():
        assert 0 <= one["x"] <= one["x"] + one["width"] <= layout["width"]
        assert 0 <= one["y"] <= one["y"] + one["height"] <= layout["height"]
        for other in boxes.values():
            apart_x = (
                one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            )
            apart_y = (
                one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
            )
            assert one is other or apart_x or apart_y
    for each in layout["edges"]:
        source, target = boxes[each["source"]], boxes[each["target"]]
        assert source["y"] < target["y"], "from above to below"
        (x, y), (to_x, to_y) = each["points"][0], each["points"][-1]
        assert source["x"] <= x <= source["x"] + source["width"]
        assert y == pytest.approx(source["y"] + source["height"], abs=1)
        assert target["x"] <= to_x <= target["x"] + target["width"]
        assert to_y == pytest.approx(target["y"], abs=1)


def test_an_edge_says_how_records_travel() -> None:
    made = {(each["source"], each["target"]): each for each in layout_of(NODES, EDGES)["edges"]}
    assert [made[key]["label"] for key in (("n0", "n1"), ("n1", "n2"), ("n1", "n3"))] == [
        "",
        "hash",
        "late · hash",
    ]
    assert not made["n0", "n1"]["is_exchange"]
    assert made["n1", "n2"]["is_exchange"]
    assert made["n1", "n2"]["is_only_input"]
    assert not made["n2", "n4"]["is_only_input"]


def test_the_speed_of_what_leaves_a_source_is_that_of_the_source() -> None:
    made = {each["source"]: each["source_name"] for each in layout_of(NODES, EDGES)["edges"]}
    assert made == {"n0": "u0", "n1": None, "n2": None, "n3": None}


def test_savepoints_have_sizes_and_sources_their_records() -> None:
    whose: dict[str, Any] = {"job_id": "1", "job_name": "first"}
    view = job("1", "first")
    view.on_event(SavepointTaken("/s/1", 0.5, stops=False, size_bytes=1_234, **whose))
    view.on_event(SavepointTaken("/s/0", 0.5, stops=False, **whose))
    view.on_event(MetricsReported({}, {"log_bytes": 9}, sources={"numbers": 7}, **whose))
    told = page_json(view, [view], 1_000)
    assert [each["size_bytes"] for each in told["savepoints"]] == [1_234, None]
    assert (told["sources"], told["state"]) == ({"numbers": 7}, {"log_bytes": 9})


def test_a_job_without_a_plan_has_no_layout() -> None:
    assert layout_of([], [])["nodes"] == []
