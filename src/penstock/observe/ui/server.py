"""The server in a thread of the driver, and its responses.

There is one per process and port: a program that runs several jobs, or one job after the other, shows all of
them. It ends with the process, and announces it to open pages.

    GET /          the page, and its files
    GET /events    the content of the page, as server-sent events: `plan` at first, then `status` every second
    GET /metrics   all metrics, as Prometheus reads them
    GET /status    the status of each job as JSON, as `penstock status --json`
    POST /jobs/ID/savepoint, …/stop-with-savepoint, …/stop
                   changes a job, see `access`; 202: the action has begun, and the status reports its outcome

Every response forbids other pages to use it, and unknown host names are refused (`hosts`).
"""

from __future__ import annotations

import atexit
import json
import logging
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.reporter_options import UI_ADDRESS, UI_HOSTS, UI_PORT, UI_TOKEN
from penstock.errors import EnvironmentSetupError, PenstockError, encodable
from penstock.extras import EXTRAS
from penstock.observe.events.job_view import JobView, JobViews
from penstock.observe.events.listeners import add_listener
from penstock.observe.events.metric_table import JOB, METRICS, MetricKind, MetricRow
from penstock.observe.events.status_json import status_json
from penstock.observe.ui.access import is_ours, is_own_origin, is_token, new_token, own_names
from penstock.observe.ui.event_stream import EventStream
from penstock.observe.ui.job_controls import JobAction, JobControls

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class JobCollector:
    """A collector of Prometheus' client, which computes all metrics when it is called.

    It may be registered at a registry of the program's own: `REGISTRY.register(JobCollector(views.views))`.
    """

    def __init__(self, views: Callable[[], Iterable[JobView]]) -> None:
        """Prepare."""
        self._views = views
        self._core = EXTRAS["ui"].load("prometheus_client.core")

    def collect(self) -> Iterator[Any]:
        """Yield one family per metric that has a series."""
        now_ms = time.time_ns() // 1_000_000
        views = tuple(self._views())
        for row in METRICS:
            family = self._family(row)
            for view in views:
                with view.lock:
                    samples = list(row.read(view, now_ms))
                for labels, value in samples:
                    named = tuple(map(encodable, (view.job_name, *labels)))
                    self._add(family, row, named, value)
            if family.samples:
                yield family

    def describe(self) -> list[Any]:
        """Return nothing: names are known without a job."""
        return []

    def _family(self, row: MetricRow) -> Any:
        labels = (JOB, *row.labels)
        if row.kind is MetricKind.COUNTER:
            return self._core.CounterMetricFamily(row.name, row.help, labels=labels)
        if row.kind is MetricKind.GAUGE:
            return self._core.GaugeMetricFamily(row.name, row.help, labels=labels)
        return self._core.SummaryMetricFamily(row.name, row.help, labels=labels[:-1])

    def _add(self, family: Any, row: MetricRow, labels: tuple[str, ...], value: float) -> None:
        if row.kind is not MetricKind.SUMMARY:
            family.add_metric(labels, value)
            return
        stat = labels[-1]
        named = dict(zip((JOB, *row.labels[:-1]), labels[:-1], strict=True))
        if stat in {"count", "sum"}:
            family.add_sample(f"{row.name}_{stat}", named, value)
        else:
            family.add_sample(row.name, {**named, "quantile": stat}, value)


def metrics_text(views: Callable[[], Iterable[JobView]]) -> bytes:
    """Return all metrics of jobs, as Prometheus reads them."""
    collector = JobCollector(views)
    text: bytes = EXTRAS["ui"].load("prometheus_client.exposition").generate_latest(collector)
    return text


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
    """Return the application, for any ASGI server."""
    responses, routing = (
        EXTRAS["ui"].load("starlette.responses"),
        EXTRAS["ui"].load("starlette.routing"),
    )

    def metrics(_: Any) -> Any:
        return responses.Response(metrics_text(views), media_type=CONTENT_TYPE)

    def status(_: Any) -> Any:
        now_ms = time.time_ns() // 1_000_000
        jobs = [status_json(view, view.state, now_ms) for view in views()]
        # Names of files may have characters that no encoding has; JSON's escapes have all.
        return responses.Response(json.dumps(jobs), media_type="application/json")

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
    starlette = EXTRAS["ui"].load("starlette.applications").Starlette
    return _Guard(starlette(routes=routes, exception_handlers={PenstockError: refused}), names)


class JobChanges:
    """Answers requests to change a job."""

    def __init__(self, controls: JobControls, token: str) -> None:
        """Prepare."""
        self._controls = controls
        self._token = token
        self._json = EXTRAS["ui"].load("starlette.responses").JSONResponse

    def answer(self, request: Any) -> Any:
        """Answer one request, in a thread: a request for a savepoint writes a file."""
        headers = request.headers
        # In this order: a client without the token gets no information about jobs.
        if not is_own_origin(headers.get("origin", ""), headers.get("host", "")):
            return self._refusal(HTTPStatus.FORBIDDEN, "The request is not one of this page.")
        if not is_token(headers.get("authorization", ""), self._token):
            problem = "The token is not that of this server: open the address that it has printed."
            return self._refusal(HTTPStatus.UNAUTHORIZED, problem)
        names = request.path_params
        try:
            action = JobAction(names["action"])
            if self._controls.begin(names["job_id"], action):
                return self._json({}, status_code=HTTPStatus.ACCEPTED)
        except ValueError:
            return self._refusal(HTTPStatus.NOT_FOUND, "There is no such action.")
        except PenstockError as error:
            return self._refusal(HTTPStatus.CONFLICT, f"{error.problem}. {error.hint}")
        return self._refusal(
            HTTPStatus.NOT_FOUND, "The job is over, or does not accept this action."
        )

    def _refusal(self, status: HTTPStatus, problem: str) -> Any:
        return self._json({"problem": problem}, status_code=status)


class _Guard:
    """Refuses names that are not ours, and adds the headers to every answer."""

    def __init__(self, app: Any, names: frozenset[str]) -> None:
        self._app = app
        self._names = names
        self._text = EXTRAS["ui"].load("starlette.responses").PlainTextResponse

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
            problem = "This name is not one of the server's; ui.hosts adds one.\n"
            app = self._text(problem, status_code=421)
        await app(scope, receive, send_with_headers)


_logger = logging.getLogger("penstock")

_BACKLOG = 128
_MOST_CONNECTIONS = 256
"""Others are refused: each takes a file descriptor of the driver."""

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here
"""Address of all networks to that of this machine."""


class UiServer:
    """A server that runs until it is closed.

    Attributes:
        secret_url: The same with the token; it is for the terminal of who may change jobs, and for no log.
    """

    def __init__(
        self,
        views: Views,
        address: str,
        port: int,
        names: frozenset[str],
        controls: JobControls | None = None,
        token: str | None = None,
    ) -> None:
        """Listen, and answer in a thread."""
        uvicorn: Any = EXTRAS["ui"].load("uvicorn")
        self._stream = EventStream(views, controls)
        token = token or new_token()
        changes = None if controls is None else JobChanges(controls, token)
        config = uvicorn.Config(
            application(views, self._stream, changes, names),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        self._socket = _listening(address, port)
        self._server = uvicorn.Server(config)
        # Signals are the program's: uvicorn takes them in the main thread only.
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name="penstock-ui",
            daemon=True,
        )
        self._thread.start()
        named = _EVERYWHERE.get(address, address)
        host = f"[{named}]" if ":" in named else named
        self.url = f"http://{host}:{self._socket.getsockname()[1]}"
        self.secret_url = self.url if controls is None else f"{self.url}/#token={token}"

    def address_for(self, *, is_terminal: bool) -> str:
        """Return the address to print: with the token only on a terminal, whose output is not kept."""
        return self.secret_url if is_terminal else self.url

    def close(self) -> None:
        """Send those who look a last status, and stop answering. It may be called again."""
        self._stream.end()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(_BACKLOG)
    except OSError as cause:
        listening.close()
        raise EnvironmentSetupError(
            f"ui.port={port} of {address} cannot be listened on: {cause}",
            hint="Choose another port, or 0 for any free one.",
        ) from cause
    return listening


_servers: dict[tuple[str, int], UiServer] = {}
_lock = threading.Lock()
_views = JobViews()

CONTROLS = JobControls()
"""The jobs of this process that run."""

_announced: list[Callable[[UiServer], None]] = []


def _close_servers() -> None:
    for server in _servers.values():
        server.close()


@contextmanager
def announced_to(announce: Callable[[UiServer], None]) -> Iterator[None]:
    """Call a function with each server that begins inside the context."""
    _announced.append(announce)
    try:
        yield
    finally:
        _announced.remove(announce)


def serve(configuration: Configuration) -> UiServer | None:
    """Start the server that a job configures, unless the process has it already; None if it configures none."""
    port = configuration.get(UI_PORT)
    if port is None:
        return None
    address = configuration.get(UI_ADDRESS)
    names = own_names((configuration.get(UI_HOSTS) or "").split(","))
    with _lock:
        server = _servers.get((address, port))
        if server is None:
            token = configuration.get(UI_TOKEN)
            # Without a token, or a caller that receives it, no client may change a job.
            controls = CONTROLS if token or _announced else None
            server = UiServer(_views.views, address, port, names, controls, token)
            if not _servers:
                add_listener(_views)
                atexit.register(_close_servers)
            _servers[address, port] = server
            _logger.info(
                "jobs are shown at %s, their metrics at %s/metrics", server.url, server.url
            )
            for announce in _announced:
                announce(server)
        return server
