"""The server, asked with real requests."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock import extras
from penstock.config.configuration import Configuration
from penstock.errors import ConfigError, EnvironmentSetupError
from penstock.observe.events.job_events import JobStarted, RunStarted
from penstock.observe.events.job_view import JobView
from penstock.observe.events.listeners import JobEvents
from penstock.observe.ui import server
from penstock.observe.ui.access import is_ours, own_names
from penstock.observe.ui.server import UiServer, serve

WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": "visits"}


def views() -> list[JobView]:
    return [
        JobView.of(
            [
                JobStarted("0.1.0", "STREAMING", 2, **WHOSE),
                RunStarted("live", "live", "numbers", False, **WHOSE),
            ]
        )
    ]


@pytest.fixture
def running() -> Iterator[UiServer]:
    made = UiServer(views, "127.0.0.1", 0, own_names())
    yield made
    made.close()


def ask(
    url: str, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[int, dict[str, str], str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.putrequest(method, path, skip_host=host is not None)
    if host:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    text = answer.read().decode()
    connection.close()
    return answer.status, headers, text


def test_metrics_and_status(running: UiServer) -> None:
    status, headers, text = ask(running.url, "/metrics")
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'penstock_job_status{job_name="visits",status="RUNNING"} 1.0' in text
    status, headers, text = ask(running.url, "/status")
    (found,) = json.loads(text)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert (found["name"], found["status"]) == ("visits", "RUNNING")


@pytest.mark.parametrize("path", ["/metrics", "/status", "/", "/nothing"])
def test_every_answer_forbids_other_pages_to_use_it(running: UiServer, path: str) -> None:
    _, headers, _ = ask(running.url, path)
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "x@127.0.0.1"]
)
def test_a_name_that_is_not_ours_is_refused(running: UiServer, host: str) -> None:
    status, _, text = ask(running.url, "/metrics", host=host)
    assert status in {400, 421}
    assert "visits" not in text


def test_a_request_without_a_name_is_refused(running: UiServer) -> None:
    parts = urlsplit(running.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as raw:
        raw.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        answer = raw.makefile("rb").read()
    assert b"visits" not in answer
    assert answer.split()[1] in {b"400", b"421"}


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "10.1.2.3:99", "[::1]:8"]
)
def test_names_that_are_ours_are_answered(running: UiServer, host: str) -> None:
    assert ask(running.url, "/metrics", host=host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(running: UiServer, method: str) -> None:
    assert ask(running.url, "/metrics", method=method)[0] == 405


def test_it_listens_on_this_machine_only(running: UiServer) -> None:
    assert running.url.startswith("http://127.0.0.1:")


def test_names_and_ports() -> None:
    names = own_names(["proxy.example", " "])
    assert is_ours("Proxy.Example:443", names)
    assert is_ours(socket.gethostname(), names)
    for host in ("[::1", "::1", "[localhost]", "localhost:80x", "localhost:", "other"):
        assert not is_ours(host, names), host


@pytest.fixture
def _own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: dict[tuple[str, int], UiServer] = {}
    monkeypatch.setattr(server, "_servers", made)
    yield
    for each in made.values():
        each.close()


@pytest.mark.usefixtures("_own_servers")
def test_a_job_asks_for_a_server_and_the_next_one_shares_it() -> None:
    assert serve(Configuration()) is None
    asked = Configuration().set_string("ui.port", "0")
    made = serve(asked)
    assert made is not None
    assert serve(asked) is made
    JobEvents("77", "told").publish(RunStarted("live", "live", "numbers", bounded=False))
    assert 'job_name="told"' in ask(made.url, "/metrics")[2]


@pytest.mark.usefixtures("_own_servers")
def test_two_servers_of_a_process_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr(server, "add_listener", heard.append)
    first = serve(Configuration().set_string("ui.port", "0"))
    second = serve(
        Configuration().set_string("ui.port", "0").set_string("ui.bind-address", "127.0.0.2")
    )
    assert first is not second
    assert len(heard) == 1


def test_the_printed_address_is_one_that_can_be_opened() -> None:
    made = UiServer(views, "0.0.0.0", 0, own_names())  # noqa: S104 - for a moment
    try:
        assert made.url.startswith("http://127.0.0.1:")
        assert ask(made.url, "/status")[0] == 200
    finally:
        made.close()


def test_closing_twice_is_closing() -> None:
    made = UiServer(views, "127.0.0.1", 0, own_names())
    ask(made.url, "/events", method="HEAD")
    made.close()
    made.close()
    with pytest.raises(OSError, match="refused"):
        ask(made.url, "/events", method="HEAD")


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentSetupError, match="cannot be listened on"):
            UiServer(views, "127.0.0.1", port, own_names())


def test_a_port_that_is_none() -> None:
    with pytest.raises(ConfigError, match="between 0 and 65,535"):
        serve(Configuration().set_string("ui.port", "70000"))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(EnvironmentSetupError, match="prometheus-client") as found:
        UiServer(views, "127.0.0.1", 0, own_names())
    assert "'prometheus-client>=" in found.value.hint


def test_a_closed_server_leaves_nothing() -> None:
    before = threading.active_count()
    made = UiServer(views, "127.0.0.1", 0, own_names())
    ask(made.url, "/metrics")
    made.close()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)  # Starlette's own threads end by themselves
    assert not [each for each in threading.enumerate() if each.name == "penstock-ui"]
    parts = urlsplit(made.url)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((parts.hostname, parts.port), timeout=1)
