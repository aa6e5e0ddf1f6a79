"""Content of the page, as server-sent events. The server computes it only while a page is open.

    plan      what stays as it is while a driver runs the job: at first, and when another driver has begun
    status    every second, whole: a page that was asleep is right again with the next one
    problem   in place of a status that cannot be read, such as that of a directory that is gone
    end       the last one, when the server ends

The number of streams has a bound. A thread computes a status, so that the server goes on answering.

Content of the page, as JSON: the plan once, the status whenever it has changed.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from penstock.config.options import ALL_OPTIONS
from penstock.errors import ConfigError, PenstockError
from penstock.extras import EXTRAS
from penstock.observe.events.job_events import SavepointTaken
from penstock.observe.events.job_view import JobView
from penstock.observe.events.status_json import status_json
from penstock.observe.ui.graph_layout import layout_of
from penstock.observe.ui.job_controls import JobControls

_MOST_BARS = 60
_MOST_RUNS = 24
_OPTIONS = {key: option for option in ALL_OPTIONS for key in option.keys}


def plan_json(view: JobView) -> dict[str, Any]:
    """Return the part of the page that is constant while a driver runs the job."""
    started = view.started
    if started is None:
        return {"parallelism": None, "settings": {}, "plan": "", "layout": None}
    return {
        "parallelism": started.parallelism,
        "settings": changed_settings(started.settings),
        "plan": started.plan,
        "layout": layout_of(started.nodes, started.edges),
    }


def changed_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that are not what they would be without having been set.

    Examples:
        >>> changed_settings({"parallelism.default": "3", "ui.bind-address": "127.0.0.1", "spark.x": "******"})
        {'parallelism.default': '3', 'spark.x': '******'}
    """
    return {key: text for key, text in settings.items() if not _is_default(key, text)}


def _is_default(key: str, text: str) -> bool:
    option = _OPTIONS.get(key)
    if option is None or option.default is None:
        return False
    try:
        return bool(option.parse(text) == option.default)
    except ConfigError:  # hidden, or of another version
        return False


def page_json(view: JobView, views: Iterable[JobView], now_ms: int) -> dict[str, Any]:
    """Return the part of the page that changes."""
    with view.lock:
        live = [run for run in view.runs if run.micro_batches]
        batches = list(live[-1].micro_batches)[-_MOST_BARS:] if live else []
        status = status_json(view, view.state, now_ms)
        return {
            **status,
            "runs": status["runs"][-_MOST_RUNS:],
            "now_ms": now_ms,
            "sources": dict(view.metrics.sources) if view.metrics is not None else {},
            "state": dict(view.metrics.state) if view.metrics is not None else {},
            "jobs": [{"id": job.job_id, "name": job.job_name} for job in views],
            "micro_batches": [
                {
                    "number": batch.number,
                    "records": batch.records,
                    "seconds": batch.seconds,
                    "durations": dict(batch.durations),
                }
                for batch in batches
            ],
            "savepoints": [
                {
                    "path": event.path,
                    "seconds": event.seconds,
                    "size_bytes": event.size_bytes,
                    "at_ms": event.at_ms,
                    "problem": None,
                }
                if isinstance(event, SavepointTaken)
                else {"path": None, "problem": event.problem, "at_ms": event.at_ms}
                for event in view.savepoints
            ],
        }


INTERVAL_SECONDS = 1.0
"""Time between two statuses."""

MOST_STREAMS = 32
"""So many may look at the same time."""

_TYPE = "text/event-stream; charset=utf-8"


class EventStream:
    """Answers requests of the page for events."""

    def __init__(
        self, views: Callable[[], Iterable[JobView]], controls: JobControls | None = None
    ) -> None:
        """Prepare."""
        self._views = views
        self._controls = controls
        self._streams = 0
        self._responses = EXTRAS["ui"].load("starlette.responses")
        self._in_thread = EXTRAS["ui"].load("starlette.concurrency").run_in_threadpool
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()

    async def answer(self, request: Any) -> Any:
        """Return the answer to one request; `job` is the id of the job, without it the one that began last."""
        self._loop = asyncio.get_running_loop()
        if request.method == "HEAD":
            return self._responses.Response(headers={"content-type": _TYPE})
        if self._streams >= MOST_STREAMS:
            return self._responses.PlainTextResponse(
                "Too many look at the jobs.\n", status_code=503
            )
        job = request.query_params.get("job", "")
        return self._responses.StreamingResponse(self._events(job), media_type=_TYPE)

    def end(self) -> None:
        """Send the open pages a last status, and end their streams. Callable from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, so no page is open
                self._loop.call_soon_threadsafe(self._ending.set)

    async def _events(self, job: str) -> AsyncIterator[str]:
        if self._streams >= MOST_STREAMS:
            return  # many pages connected at the same moment
        self._streams += 1
        try:
            shown: object = None
            is_last = False
            while True:
                try:
                    # At the end of the process no thread can be started.
                    view, status = (
                        self._status(job) if is_last else await self._in_thread(self._status, job)
                    )
                    if view is not None and _driver_of(view) != shown and not is_last:
                        yield _event("plan", await self._in_thread(plan_json, view))
                        shown = _driver_of(view)
                    if status is not None:
                        yield _event("status", status)
                except PenstockError as error:
                    yield _event("problem", {"problem": error.problem, "hint": error.hint})
                if is_last:
                    yield _event("end", {})
                    return
                is_last = await self._is_ending()
        finally:
            self._streams -= 1

    async def _is_ending(self) -> bool:
        """Wait for the next status, and return whether it is the last one."""
        try:
            await asyncio.wait_for(self._ending.wait(), INTERVAL_SECONDS)
        except TimeoutError:
            return False
        return True

    def _status(self, job: str) -> tuple[JobView | None, dict[str, Any] | None]:
        views = tuple(self._views())
        view = next((view for view in views if view.job_id == job), None)
        view = view or (views[-1] if views else None)
        if view is None:
            return None, None
        status = page_json(view, views, time.time_ns() // 1_000_000)
        if self._controls is not None:
            status["actions"] = self._controls.actions_of(view.job_id)
            status["requested"] = self._controls.requested_of(view.job_id)
        return view, status


def _driver_of(view: JobView) -> tuple[str, int | None]:
    return view.job_id, None if view.started is None else view.started.at_ms


def _event(name: str, content: object) -> str:
    # A line break would end the event; JSON has none.
    return f"event: {name}\ndata: {json.dumps(content, default=str)}\n\n"
