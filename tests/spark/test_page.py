"""The page of a real job in a real browser; its buttons, and what a sample leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from penstock.api.environment.job import JobClient, JobStatus
from penstock.common import WatermarkStrategy
from penstock.datastream.connectors import DataGeneratorSource, DiscardingSink
from penstock.errors import JobCancelledError
from penstock.observe.ui import server
from penstock.observe.ui.server import CONTROLS, UiServer
from tests.observe.ui.watched_page import watched_page
from tests.spark.conftest import Environment

TOKEN = "a-token-of-this-test"  # noqa: S105 - of a server that lives for a test
SETTINGS = {"ui.port": "0", "ui.token": TOKEN, "execution.live.max-records-per-batch": 40}


@pytest.fixture
def _own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: dict[tuple[str, int], UiServer] = {}
    monkeypatch.setattr(server, "_servers", made)
    yield
    for each in made.values():
        each.close()


def endless(environment: Environment, tmp_path: Path, name: str) -> JobClient:
    env = environment(
        "streaming", **SETTINGS, **{"execution.checkpointing.dir": str(tmp_path / name)}
    )
    source = DataGeneratorSource(lambda n: (n % 6, 1), count=None)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(lambda pair: pair[0]).sum(1).uid("counts")
    counts.sink_to(DiscardingSink()).uid("out")
    return env.execute_async(name)


def says(page: Any, selector: str, text: str) -> None:
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector).textContent.includes(text)",
        arg=[selector, text],
        timeout=60_000,
    )


@pytest.mark.usefixtures("_own_servers")
def test_the_buttons_of_a_job_that_runs(
    chromium: Any, environment: Environment, tmp_path: Path
) -> None:
    client = endless(environment, tmp_path, "shown")
    try:
        (made,) = server._servers.values()
        with watched_page(chromium, made.secret_url) as page:
            says(page, "#runs", "micro-batch")
            expect(page.locator("#graph .node")).to_have_count(3)
            page.locator("#savepoint").click()
            says(page, "#savepoints", " kB")
            (taken,) = (tmp_path / "shown" / "savepoints").iterdir()
            says(page, "#savepoints", taken.name)
            expect(page.locator("#savepoint")).to_be_enabled()

            page.once("dialog", lambda dialog: dialog.accept())
            page.locator("#stop-with-savepoint").click()
            says(page, "#status", "finished")
            expect(page.locator("#control")).to_be_hidden()
    finally:
        client.cancel()
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert len(list((tmp_path / "shown" / "savepoints").iterdir())) == 2
    assert CONTROLS.actions_of(client.get_job_id()) == ()


@pytest.mark.usefixtures("_own_servers")
def test_stop_is_as_cancel(chromium: Any, environment: Environment, tmp_path: Path) -> None:
    client = endless(environment, tmp_path, "stopped")
    try:
        (made,) = server._servers.values()
        with watched_page(chromium, made.secret_url) as page:
            says(page, "#runs", "micro-batch")
            page.once("dialog", lambda dialog: dialog.accept())
            page.locator("#stop").click()
            says(page, "#status", "canceled")
    finally:
        client.cancel()
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
