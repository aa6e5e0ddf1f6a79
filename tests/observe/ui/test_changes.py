"""Requests that change a job, asked as pages ask, and as those ask who must not."""

from __future__ import annotations

import http.client
import json
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock.config.configuration import Configuration
from penstock.errors import ConfigError, SavepointError
from penstock.observe.events.job_events import JobStarted, RunStarted
from penstock.observe.events.job_view import JobView
from penstock.observe.ui import event_stream, server
from penstock.observe.ui.access import own_names
from penstock.observe.ui.job_controls import JobAction, JobControls, in_thread
from penstock.observe.ui.server import UiServer, announced_to, serve

TOKEN = "a-token-of-this-server"  # noqa: S105 - of a server that lives for a test
WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": "visits"}
SAVEPOINT = "/jobs/9f/savepoint"


class Job:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: list[Future[None]] = []
        self.error: SavepointError | None = None

    def begin(self, what: str) -> Callable[[], Future[None]]:
        def begun() -> Future[None]:
            if self.error is not None:
                raise self.error
            self.asked.append(what)
            self.answers.append(Future())
            return self.answers[-1]

        return begun


@pytest.fixture
def job() -> Job:
    return Job()


@pytest.fixture
def controls(job: Job) -> JobControls:
    made = JobControls()
    made.add("9f", {action: job.begin(action.value) for action in JobAction})
    return made


@pytest.fixture
def running(controls: JobControls) -> Iterator[UiServer]:
    view = JobView.of(
        [
            JobStarted("0.1.0", "STREAMING", 2, **WHOSE),
            RunStarted("live", "live", "numbers", False, **WHOSE),
        ]
    )
    made = UiServer(lambda: [view], "127.0.0.1", 0, own_names(), controls, TOKEN)
    yield made
    made.close()


def ask(
    made: UiServer, path: str = SAVEPOINT, *, method: str = "POST", **headers: str | None
) -> tuple[int, Any]:
    """Ask as the page does; a header that is None is left out."""
    parts = urlsplit(made.url)
    sent = {
        "Host": parts.netloc,
        "Origin": made.url,
        "Authorization": f"Bearer {TOKEN}",
        **headers,
    }
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    is_json = answer.getheader("content-type") == "application/json"
    return answer.status, json.loads(text) if is_json else text


@pytest.mark.parametrize("action", [action.value for action in JobAction])
def test_the_page_asks(running: UiServer, job: Job, action: str) -> None:
    assert ask(running, f"/jobs/9f/{action}") == (202, {})
    assert job.asked == [action]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "evil.example"}, 421, id="wrong host"),
        pytest.param({"Host": None}, 400, id="no host"),
        pytest.param({"Origin": "http://evil.example"}, 403, id="wrong origin"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, 403, id="another port of this machine"),
        pytest.param({"Origin": "http://localhost"}, 403, id="another name of this machine"),
        pytest.param({"Origin": "null"}, 403, id="origin of a file"),
        pytest.param({"Origin": None}, 403, id="no origin"),
        pytest.param({"Authorization": None}, 401, id="no token"),
        pytest.param({"Authorization": "Bearer "}, 401, id="empty token"),
        pytest.param({"Authorization": f"Bearer {TOKEN}x"}, 401, id="wrong token"),
        pytest.param({"Authorization": f"Basic {TOKEN}"}, 401, id="wrong scheme"),
        pytest.param({"Authorization": None, "Cookie": f"token={TOKEN}"}, 401, id="a cookie"),
    ],
)
def test_who_must_not_ask_changes_nothing(
    running: UiServer, job: Job, headers: dict[str, Any], status: int
) -> None:
    assert ask(running, **headers)[0] == status
    assert job.asked == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_only_post_changes(running: UiServer, job: Job, method: str) -> None:
    assert ask(running, method=method)[0] == 405
    assert job.asked == []


def test_a_token_in_the_address_is_none(running: UiServer, job: Job) -> None:
    assert ask(running, f"{SAVEPOINT}?token={TOKEN}", Authorization=None)[0] == 401
    assert job.asked == []


def test_the_token_of_an_earlier_server_is_refused(controls: JobControls, job: Job) -> None:
    before = UiServer(list, "127.0.0.1", 0, own_names(), controls)
    before.close()
    old = before.secret_url.partition("#token=")[2]
    now = UiServer(list, "127.0.0.1", 0, own_names(), controls)
    try:
        assert now.secret_url.partition("#token=")[2] != old
        assert ask(now, Authorization=f"Bearer {old}")[0] == 401
    finally:
        now.close()
    assert job.asked == []


@pytest.mark.parametrize("path", ["/jobs/9f/drop", "/jobs/8e/savepoint", "/jobs/%2e%2e/savepoint"])
def test_what_there_is_not_is_not_found(running: UiServer, job: Job, path: str) -> None:
    assert ask(running, path)[0] == 404
    assert job.asked == []


def test_who_has_no_token_does_not_learn_which_jobs_there_are(running: UiServer) -> None:
    told = {
        ask(running, path, Authorization=None)[1]["problem"] for path in (SAVEPOINT, "/jobs/x/stop")
    }
    assert len(told) == 1


def test_asking_twice_is_asking_once(running: UiServer, job: Job) -> None:
    for _ in range(5):
        assert ask(running)[0] == 202
    assert job.asked == ["savepoint"]
    job.answers[0].set_result(None)
    assert ask(running)[0] == 202
    assert job.asked == ["savepoint"] * 2


def test_what_cannot_be_begun_says_why(running: UiServer, job: Job) -> None:
    job.error = SavepointError("there is no room", hint="Make some.")
    assert ask(running) == (409, {"problem": "there is no room. Make some."})


def test_the_status_says_what_became_of_it(
    running: UiServer, job: Job, controls: JobControls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "INTERVAL_SECONDS", 0.02)
    ask(running)
    asked = controls.requested_of("9f")["savepoint"]
    assert (asked["is_open"], asked["problem"]) == (True, None)
    job.answers[0].set_exception(SavepointError("the disk is full", hint="Make room."))
    parts = urlsplit(running.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    lines = [answer.readline().decode() for _ in range(5)]
    connection.close()
    told = json.loads(lines[4].removeprefix("data: "))
    assert told["actions"] == ["savepoint", "stop-with-savepoint", "stop"]
    assert told["requested"]["savepoint"]["problem"] == "the disk is full"
    asked = controls.requested_of("9f")["savepoint"]
    assert (asked["is_open"], asked["problem"]) == (False, "the disk is full")
    controls.remove("9f")
    assert (controls.actions_of("9f"), controls.requested_of("9f")) == ((), {})
    assert ask(running)[0] == 404


def test_a_server_without_controls_changes_nothing() -> None:
    made = UiServer(list, "127.0.0.1", 0, own_names())
    try:
        assert ask(made)[0] == 404
        assert made.secret_url == made.url
    finally:
        made.close()


def test_what_takes_long_has_a_thread_of_its_own() -> None:
    release = threading.Event()
    answer = in_thread(release.wait)
    assert not answer.done()
    release.set()
    assert answer.exception() is None
    failed = in_thread(lambda: int("x"))
    assert isinstance(failed.exception(), ValueError)


@pytest.fixture
def _own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: dict[tuple[str, int], UiServer] = {}
    monkeypatch.setattr(server, "_servers", made)
    monkeypatch.setattr(server, "add_listener", lambda _: None)
    yield
    for each in made.values():
        each.close()


@pytest.mark.usefixtures("_own_servers")
def test_the_token_is_told_to_who_began_it_and_is_in_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[UiServer] = []
    with announced_to(told.append), caplog.at_level(logging.DEBUG):
        made = serve(Configuration().set_string("ui.port", "0"))
        assert made is not None
        ask(made, Authorization=None)
    assert told == [made]
    address = made.address_for(is_terminal=True)
    assert address == made.secret_url
    assert made.address_for(is_terminal=False) == made.url
    token = address.partition("#token=")[2]
    assert len(token) >= 40
    assert made.url in caplog.text
    assert token not in caplog.text


@pytest.mark.usefixtures("_own_servers")
def test_without_anybody_who_knows_a_token_the_page_reads_only() -> None:
    made = serve(Configuration().set_string("ui.port", "0"))
    assert made is not None
    assert ask(made)[0] == 404


@pytest.mark.usefixtures("_own_servers")
def test_a_token_can_be_set_and_is_shown_nowhere() -> None:
    settings = Configuration().set_string("ui.port", "0").set_string("ui.token", TOKEN)
    made = serve(settings)
    assert made is not None
    assert made.secret_url.endswith(f"/#token={TOKEN}")
    assert ask(made, Authorization="Bearer other")[0] == 401
    assert ask(made)[0] == 404, "there is no job"
    assert TOKEN not in str(settings.shown())
    assert TOKEN not in str(settings)


@pytest.mark.parametrize("token", ["short", "has spaces in its middle", "x" * 15, "ä" * 20])
def test_a_token_that_is_none(token: str) -> None:
    with pytest.raises(ConfigError, match="16 characters") as refused:
        serve(Configuration().set_string("ui.port", "0").set_string("ui.token", token))
    assert token not in str(refused.value)
