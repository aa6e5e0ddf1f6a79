"""The application: what the server answers.

    GET /          the page, and its files
    GET /events    what the page shows, as server-sent events: `plan` at first, then `status` every second
    GET /metrics   all metrics, as Prometheus reads them
    GET /status    the status of each job as JSON, as `penstock status --json`
    POST /jobs/ID/savepoint, …/stop-with-savepoint, …/stop
                   changes a job, see `access`; 202: it was asked, and the status says what became of it

Every answer forbids other pages to use it, and names that are not ours are refused (`hosts`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from penstock.errors import PenstockError
from penstock.events.job_view import JobView
from penstock.events.status_json import status_json
from penstock.ui.access import is_own_origin, is_token
from penstock.ui.event_stream import EventStream
from penstock.ui.hosts import is_ours
from penstock.ui.job_controls import JobAction, JobControls
from penstock.ui.libraries import library
from penstock.ui.prometheus import CONTENT_TYPE, metrics_text

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer."""

PAGE_FILES: Mapping[str, str] = {
    "index.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page, with their types."""

Views = Callable[[], Iterable[JobView]]
_Send = Callable[[Any], Awaitable[None]]


def application(
    views: Views, stream: EventStream, changes: JobChanges | None, names: frozenset[str]
) -> Any:
    """Return the application, for any ASGI server.

    Args:
        views: Returns the jobs.
        stream: Of the same jobs.
        changes: Answers requests to change jobs; None if nobody may.
        names: By which the server may be called, in lower case.

    Raises:
        EnvironmentSetupError: The extra `ui` is not installed.
    """
    responses, routing = library("starlette.responses"), library("starlette.routing")

    def metrics(_: Any) -> Any:
        return responses.Response(metrics_text(views), media_type=CONTENT_TYPE)

    def status(_: Any) -> Any:
        now_ms = time.time_ns() // 1_000_000
        found = [status_json(view, view.state, now_ms) for view in views()]
        # Names of files may have characters that no encoding knows; JSON's escapes have all.
        return responses.Response(json.dumps(found), media_type="application/json")

    def refused(_: Any, error: PenstockError) -> Any:
        return responses.PlainTextResponse(f"{error.problem}\n", status_code=503)

    def static(name: str, media_type: str) -> Any:
        content = (files(__package__) / "static" / name).read_bytes()
        return lambda _: responses.Response(content, media_type=media_type)

    routes = [
        *(
            routing.Route("/" if name == "index.html" else f"/{name}", static(name, kind))
            for name, kind in PAGE_FILES.items()
        ),
        routing.Route("/events", stream.answer, methods=["GET"]),
        routing.Route("/metrics", metrics, methods=["GET"]),
        routing.Route("/status", status, methods=["GET"]),
    ]
    if changes is not None:
        routes.append(routing.Route("/jobs/{job_id}/{action}", changes.answer, methods=["POST"]))
    starlette = library("starlette.applications").Starlette
    return _Guard(starlette(routes=routes, exception_handlers={PenstockError: refused}), names)


class JobChanges:
    """Answers requests to change a job."""

    def __init__(self, controls: JobControls, token: str) -> None:
        """Prepare.

        Args:
            controls: The jobs that may be changed.
            token: Who knows it may change them.
        """
        self._controls = controls
        self._token = token
        self._json = library("starlette.responses").JSONResponse

    def answer(self, request: Any) -> Any:
        """Answer one request, in a thread: a request for a savepoint writes a file."""
        headers = request.headers
        # In this order: who does not know the token learns nothing of jobs.
        if not is_own_origin(headers.get("origin", ""), headers.get("host", "")):
            return self._refusal(HTTPStatus.FORBIDDEN, "The request is not one of this page.")
        if not is_token(headers.get("authorization", ""), self._token):
            told = "The token is not that of this server: open the address that it has printed."
            return self._refusal(HTTPStatus.UNAUTHORIZED, told)
        names = request.path_params
        try:
            action = JobAction(names["action"])
            if self._controls.ask(names["job_id"], action):
                return self._json({}, status_code=HTTPStatus.ACCEPTED)
        except ValueError:
            return self._refusal(HTTPStatus.NOT_FOUND, "There is no such action.")
        except PenstockError as error:
            return self._refusal(HTTPStatus.CONFLICT, f"{error.problem}. {error.hint}")
        return self._refusal(HTTPStatus.NOT_FOUND, "The job is over, or cannot be asked for this.")

    def _refusal(self, status: HTTPStatus, problem: str) -> Any:
        return self._json({"problem": problem}, status_code=status)


class _Guard:
    """Refuses names that are not ours, and adds the headers to every answer."""

    def __init__(self, app: Any, names: frozenset[str]) -> None:
        self._app = app
        self._names = names
        self._text = library("starlette.responses").PlainTextResponse

    async def __call__(self, scope: Any, receive: Any, send: _Send) -> None:
        """Answer one request; an ASGI application."""

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        if scope["type"] != "http":
            return
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        app = self._app
        if len(hosts) != 1 or not is_ours(hosts[0], self._names):
            told = "This name is not one of the server's; ui.hosts adds one.\n"
            app = self._text(told, status_code=421)
        await app(scope, receive, send_with_headers)
