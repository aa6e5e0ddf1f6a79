"""Futures of savepoints that the process of a job requests."""

from __future__ import annotations

import threading

from penstock.api.environment.job import CompletableFuture
from penstock.errors import PenstockError, SavepointError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.savepoints.savepoint_requests import SavepointRequests

_POLL_SECONDS = 0.05


class SavepointFutures:
    """Submits requests, and completes their futures in a separate thread."""

    def __init__(self, job_directory: JobPath, refusal: SavepointError | None = None) -> None:
        """Serve one job."""
        self._requests = SavepointRequests(job_directory)
        self._refusal = refusal
        self._open: dict[str, CompletableFuture[str]] = {}
        self._ended: str | None = None
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def submit(self, parent: str | None, *, stop: bool, drain: bool) -> CompletableFuture[str]:
        """Request a savepoint."""
        future: CompletableFuture[str] = CompletableFuture()
        with self._lock:
            refusal = self._refusal if self._ended is None else _too_late(self._ended)
            if refusal is not None:
                future.set_exception(refusal)
                return future
            try:
                place = None if parent is None else savepoint_place(parent)
            except PenstockError as error:
                future.set_exception(error)
                return future
            request = self._requests.submit(place, stop=stop, drain=drain)
            self._open[request.id] = future
            if self._watcher is None:
                self._watcher = threading.Thread(
                    target=self._watch, name="penstock-savepoints", daemon=True
                )
                self._watcher.start()
        return future

    def close(self, status: str, *, is_fenced: bool = False) -> None:
        """Fail all open requests, those of other processes too: the job has ended."""
        with self._lock:
            self._ended = status
            for request in () if is_fenced else self._requests.waiting():
                self._requests.fail(request, _too_late(status))
            self._complete()
            if is_fenced:
                self._give_up(_too_late(status))

    def _watch(self) -> None:
        while True:
            with self._lock:
                try:
                    self._complete()
                except PenstockError as error:
                    self._give_up(error)
                if not self._open:
                    self._watcher = None
                    return
            threading.Event().wait(_POLL_SECONDS)

    def _complete(self) -> None:
        for request_id, future in list(self._open.items()):
            if future.cancelled():
                self._requests.withdraw(request_id)
                del self._open[request_id]
                continue
            answer = self._requests.answer(request_id)
            if isinstance(answer, PenstockError):
                future.set_exception(answer)
            elif answer is not None:
                future.set_result(str(answer))
            if answer is not None:
                del self._open[request_id]

    def _give_up(self, error: PenstockError) -> None:
        for future in self._open.values():
            future.set_exception(error)
        self._open.clear()


# FLIP-331, rule 6.
def no_live_run(name: str) -> SavepointError:
    """Return the error about a job without a live run, which supports no savepoints."""
    return SavepointError(
        f"job {name!r} is a batch job: it has no state that could be continued",
        hint="Run it in STREAMING mode.",
    )


def _too_late(status: str) -> SavepointError:
    return SavepointError(
        f"the job ended ({status}) before it could take the savepoint",
        hint="Ask for a savepoint while the live run of the job is running.",
    )
