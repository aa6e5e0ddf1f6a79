"""Content of the page, as server-sent events. Nothing is computed unless somebody looks.

    plan      what stays as it is while a driver runs the job: at first, and when another driver has begun
    status    every second, whole: a page that was asleep is right again with the next one
    problem   in place of a status that cannot be read, such as that of a directory that is gone
    end       the last one, when the server ends

The number of streams has a bound. A thread computes a status, so that the server goes on answering.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

from penstock.errors import PenstockError
from penstock.events.job_view import JobView
from penstock.ui.job_controls import JobControls
from penstock.ui.libraries import library
from penstock.ui.page_json import page_json, plan_json

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
        """Prepare.

        Args:
            views: Returns the jobs.
            controls: Those of them that may be changed; None if nobody may.
        """
        self._views = views
        self._controls = controls
        self._streams = 0
        self._responses = library("starlette.responses")
        self._in_thread = library("starlette.concurrency").run_in_threadpool
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
        """Send those who look a last status, and end their streams. Called from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, so nobody looks
                self._loop.call_soon_threadsafe(self._ending.set)

    async def _events(self, job: str) -> AsyncIterator[str]:
        if self._streams >= MOST_STREAMS:
            return  # many asked at the same moment
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
            status["asked"] = self._controls.asked_of(view.job_id)
        return view, status


def _driver_of(view: JobView) -> tuple[str, int | None]:
    return view.job_id, None if view.started is None else view.started.at_ms


def _event(name: str, content: object) -> str:
    # A line break would end the event; JSON has none.
    return f"event: {name}\ndata: {json.dumps(content, default=str)}\n\n"
