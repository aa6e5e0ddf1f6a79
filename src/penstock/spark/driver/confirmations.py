"""Confirmations to logs of the positions that the job will not read again, after the commit of a batch run or epoch.

    commit ─▶ note(positions) ─▶ the thread calls `confirm` with the newest positions
                                  it raised: an event, and the next call a second later

A log may take long to answer, so epochs go on meanwhile, and one call may confirm several of them. The job keeps no
record of confirmed positions: the next driver confirms the positions it begins with once more. The end of a run
waits for the last confirmation, up to the time limit of the log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Self, cast

from penstock.errors import PenstockError
from penstock.failpoint import failpoint
from penstock.graph.hybrid import snapshot_part_of
from penstock.graph.log_source import LogSource
from penstock.observe.events.job_events import ConfirmFailed
from penstock.observe.events.listeners import JobEvents
from penstock.plan.physical import PhysicalPlan
from penstock.spark.sources.read_context import Pinned

Part = tuple[int, int]
"""Source id, and index of the part."""

Positions = Mapping[Part, Mapping[str, int]]
"""Part of a source to the id of each split and the position that was read to."""

_RETRY_SECONDS = 1.0
_LAST_TRIES = 3
"""Calls for the last positions of a run; then the run ends without them."""

_POLL_SECONDS = 0.05


class Confirmations:
    """The confirmations of one run. A context: it ends after the last confirmation."""

    def __init__(
        self,
        events: JobEvents,
        logs: Mapping[Part, tuple[str, LogSource]],
        check: Callable[[], None],
    ) -> None:
        """Begin without a thread."""
        self._events = events
        self._logs = {part: named for part, named in logs.items() if named[1].is_confirmed}
        self._check = check
        self._changed = threading.Condition()
        self._pending: dict[Part, dict[str, int]] = {}
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._reported: dict[Part, str] = {}
        self._current: Part | None = None

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Wait for the last confirmation, unless the run has failed or was cancelled, or it takes too long."""
        with self._changed:
            self._is_closing = True
            if error is not None:
                self._pending = {}  # the next driver confirms what was committed
            self._changed.notify()
        if error is None and self._thread is not None:
            self._await_last(self._thread)

    def _await_last(self, thread: threading.Thread) -> None:
        most = sum(log.confirm_timeout_seconds for _, log in self._logs.values())
        deadline = time.monotonic() + most
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
            self._check()
            current = self._current
            if current is not None and time.monotonic() > deadline:
                name, _ = self._logs[current]
                problem = f"confirm() has not returned within {most:g} s: the run ends without it"
                self._events.publish(ConfirmFailed(name, problem))
                return

    def note(self, positions: Positions) -> None:
        """Confirm positions soon; those of earlier calls that are not confirmed yet are superseded."""
        pending = {part: dict(positions[part]) for part in self._logs if part in positions}
        if not pending:
            return
        with self._changed:
            self._pending |= pending
            if self._thread is None:
                name = f"{threading.current_thread().name}-confirm"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        tries, pause = _LAST_TRIES, 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closing, pause)
                self._changed.wait_for(lambda: self._is_closing or self._pending)
                if not self._pending or not tries:
                    return
                tries -= self._is_closing
                taken, self._pending = self._pending, {}
            left = self._confirm(taken)
            pause = _RETRY_SECONDS if left else 0.0
            with self._changed:
                self._pending = left | self._pending

    def _confirm(self, pending: dict[Part, dict[str, int]]) -> dict[Part, dict[str, int]]:
        """Call the logs; return the positions that they refused. It reports the same failure once."""
        left = {}
        for part, positions in sorted(pending.items()):
            name, log = self._logs[part]
            failpoint("log.before-confirm")
            self._current = part
            try:
                log.exact_confirm(positions)
            except PenstockError as cause:
                left[part] = positions
                if self._reported.get(part) != cause.problem:
                    self._reported[part] = cause.problem
                    self._events.publish(ConfirmFailed(name, cause.problem))
            else:
                self._reported.pop(part, None)
        self._current = None
        return left


def logs_read(plan: PhysicalPlan, pinned: Pinned) -> dict[Part, tuple[str, LogSource]]:
    """Return the name of the source and the log, of the logs that a run reads and confirms.

    A shadow confirms only what is its own: the slot with which its snapshot was taken.
    """
    if not plan.options.confirms:
        return {}
    is_shadow = plan.options.redirection is not None
    return {
        (source, part): (
            plan.source(source).name,
            cast("LogSource", plan.source(source).parts[part]),
        )
        for source, part in pinned.names
        if not is_shadow or snapshot_part_of(plan.source(source).parts) is not None
    }


def ends_read(pinned: Pinned) -> Positions:
    """Return the positions of a batch run at its end."""
    return {
        key: {
            name: start if end is None else end
            for name, (start, end) in zip(names, pinned.splits[key], strict=True)
        }
        for key, names in pinned.names.items()
    }
