"""The progress of jobs on stderr: a live display on a terminal, plain lines elsewhere, with durations.

The thread of a job publishes its events; it need not be the main thread.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import timedelta
from typing import Any, TextIO, cast

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment, Segments
from rich.spinner import Spinner
from rich.text import Text

from penstock.config.parse import DURATION
from penstock.errors import ConfigError
from penstock.observe.events.job_events import (
    BatchProgress,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    PendingInputMeasured,
    RoundProgress,
    RunFinished,
    RunStarted,
)
from penstock.observe.events.listeners import JobListener, LogListener, set_listeners
from penstock.observe.events.sentences import metric_parts, records, sentence


def duration(option: str, text: str) -> timedelta:
    """Return the value of an option of the command line.

    Examples:
        >>> duration("--timeout", "5min")
        datetime.timedelta(seconds=300)
    """
    if text.strip().isdecimal():  # milliseconds in a configuration; typed, rather seconds
        raise ConfigError(
            f"{option} {text} has no unit", hint=f"Add one: {text}ms, {text}s or {text}min."
        )
    try:
        return DURATION(text)
    except ConfigError as error:
        raise ConfigError(f"{option} {text}: {error.problem}", hint=error.hint) from error


class DisplayAwareStream:
    """Replaces `sys.stdout` or `sys.stderr` while a display may be on the terminal.

    While the display is drawn, the stream writes whole lines through the display's console, which
    clears the display, writes the lines unchanged and draws the display again. An incomplete line
    is buffered. At other times text is written to the original stream at once.

    Attributes:
        rich_proxied_file: The original stream. A rich console reads this attribute, and so does not
            write to itself.
    """

    def __init__(self, stream: TextIO, console: Console, is_drawn: Callable[[], bool]) -> None:
        self.rich_proxied_file = stream
        self._console = console
        self._is_drawn = is_drawn
        self._started_line = ""
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)

    def write(self, text: str) -> int:
        """Write `text` and return its length, as a text stream does."""
        with self._lock:
            if self._is_drawn():
                lines, end, self._started_line = (self._started_line + text).rpartition("\n")
                if end:
                    self._console.print(Segments([Segment(lines + end)]), crop=False)
            else:
                self._release()
                self.rich_proxied_file.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of `lines`, which contain their line breaks."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Write the buffered text unless the display is drawn."""
        with self._lock:
            if not self._is_drawn():
                self._release()
            self.rich_proxied_file.flush()

    def _release(self) -> None:
        self.rich_proxied_file.write(self._started_line)
        self._started_line = ""


LINE_INTERVAL_SECONDS = 10.0
"""Shortest time between two plain lines about the progress of one run."""

_Key = tuple[str, str]
"""(job id, pipeline)."""

_BATCH = "batch"
_NO_RUN = "job"
_REFRESH_PER_SECOND = 4


class PlainProgress(JobListener):
    """Writes one line per event; progress within a run at most every ten seconds, and its last state.

    At the end of a run it writes metrics, one per line, if it shows metrics. While several jobs run,
    the lines of each begin with its name.
    """

    def __init__(
        self,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
        *,
        shows_metrics: bool = False,
    ) -> None:
        self._console = console
        self._clock = clock
        self._shows_metrics = shows_metrics
        self._jobs: dict[_Key, _PlainJob] = {}
        self._lock = threading.RLock()

    def on_event(self, event: JobEvent) -> None:
        """Write the event, or delay it if it is one of many."""
        with self._lock:
            if isinstance(event, JobEnded):
                _end(self._jobs, event)
                return
            if isinstance(event, JobStarted | RoundProgress):
                return  # its runs report more
            job = self._jobs.get(_key(event))
            if job is None:
                job = self._jobs[_key(event)] = _PlainJob(
                    self._console, self._clock, shows_metrics=self._shows_metrics
                )
            is_alone = len({job_id for job_id, _ in self._jobs}) == 1
            job.on_event(event, _label(event, names_job=not is_alone))

    def close(self) -> None:
        """Write the last micro-batches that were delayed."""
        with self._lock:
            for job in self._jobs.values():
                job.close()


class _PlainJob:
    """Writes the lines of one job."""

    def __init__(
        self,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
        *,
        shows_metrics: bool = False,
    ) -> None:
        self._console = console
        self._shows_metrics = shows_metrics
        self._metrics: MetricsReported | None = None
        self._clock = clock
        self._run = _NO_RUN
        self._label = ""
        self._next_line_at = 0.0
        self._held: MicroBatch | None = None
        self._written: MicroBatch | None = None

    def on_event(self, event: JobEvent, label: str) -> None:
        self._label = label
        if isinstance(event, BatchProgress) and not event.total_tasks:
            return  # Spark has not planned tasks yet: a line with 0 of 0 tasks would be useless
        if isinstance(event, BatchProgress | MicroBatch):
            self._throttle(event)
            return
        if isinstance(event, MetricsReported):
            self._metrics = event
            return
        if isinstance(event, PendingInputMeasured):
            # The last line is out of date; `close` writes the corrected one.
            self._held = _with_pending(self._held or self._written, event)
            return
        self.close()
        self._written = None
        if isinstance(event, RunStarted):
            self._run = event.name
            # A batch run that ends before its first line is due gets no line.
            wait = LINE_INTERVAL_SECONDS if event.kind == _BATCH else 0.0
            self._next_line_at = self._clock() + wait
        self._write(event)
        if isinstance(event, RunFinished):
            self._write_metrics()

    def close(self) -> None:
        if self._held is not None:
            self._write(self._held)
            self._written, self._held = self._held, None

    def _throttle(self, event: BatchProgress | MicroBatch) -> None:
        now = self._clock()
        if now >= self._next_line_at:
            self._next_line_at = now + LINE_INTERVAL_SECONDS
            self._held = None
            self._written = event if isinstance(event, MicroBatch) else None
            self._write(event)
        elif isinstance(event, MicroBatch):
            self._held = event

    def _write_metrics(self) -> None:
        metrics, self._metrics = self._metrics, None
        if metrics is not None and self._shows_metrics:
            for part in metric_parts(metrics):
                line = f"{self._label}{self._run}:   {part}"
                self._console.print(Text(line), soft_wrap=True)

    def _write(self, event: JobEvent) -> None:
        line = self._label + sentence(event, self._run)
        self._console.print(Text(line), soft_wrap=True)


class TerminalProgress(JobListener):
    """Draws a bar during a batch run, and updates one line during a live run.

    Starts, summaries and the switch are permanent lines before the display. There is one display: that of
    the job and pipeline that began a run first. Others write lines that begin with their names.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._run = _NO_RUN
        self._bar: Progress | None = None
        self._line: Live | None = None
        self._last: MicroBatch | None = None
        self._shown: _Key | None = None
        self._others: dict[_Key, _PlainJob] = {}
        self._lock = threading.RLock()

    @property
    def is_drawn(self) -> bool:
        """True if a display is on the terminal now."""
        return self._bar is not None or self._line is not None

    def on_event(self, event: JobEvent) -> None:
        """Update the display, or write a permanent line."""
        with self._lock:
            if isinstance(event, JobStarted | RoundProgress):
                return  # its runs report more
            if isinstance(event, RunStarted) and self._shown is None:
                self._shown = _key(event)
            if isinstance(event, JobEnded):
                _end(self._others, event)
                if self._shown is None or self._shown[0] == event.job_id:
                    self.close()
                    self._shown = None
            elif self._shown not in (None, _key(event)):
                self._of_another(event)
            else:
                self._of_the_job(event)

    def _of_the_job(self, event: JobEvent) -> None:
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, BatchProgress):
            self._move_bar(event)
        elif isinstance(event, MicroBatch):
            self._move_line(event)
        elif isinstance(event, PendingInputMeasured):
            looked = _with_pending(self._last, event)
            if looked is not None:
                self._move_line(looked)
        elif not isinstance(event, MetricsReported):
            if isinstance(event, RunFinished):
                self._last = None  # the summary contains it
                self.close()
            self._write(event, style="bold")

    def close(self) -> None:
        """Remove the display; write the last state of a live run as a permanent line."""
        with self._lock:
            bar, line, last = self._bar, self._line, self._last
            self._bar = self._line = self._last = None
            for display in (bar, line):
                if display is not None:
                    display.stop()
            if last is not None:
                self._write(last)

    def _of_another(self, event: JobEvent) -> None:
        job = self._others.get(_key(event))
        if job is None:
            job = self._others[_key(event)] = _PlainJob(self._console, time.monotonic)
        is_other = self._shown is not None and self._shown[0] != event.job_id
        job.on_event(event, _label(event, names_job=is_other))

    def _start(self, event: RunStarted) -> None:
        self.close()
        self._run = event.name
        self._write(event, style="dim")
        if event.kind == _BATCH:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("tasks"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                refresh_per_second=_REFRESH_PER_SECOND,
            )
            self._bar.add_task(event.name, total=None)
            self._bar.start()
        else:
            self._line = Live(
                Spinner("dots", Text(f"{event.name}: waiting for records")),
                console=self._console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                refresh_per_second=_REFRESH_PER_SECOND,
            )
            self._line.start(refresh=True)

    def _move_bar(self, event: BatchProgress) -> None:
        if self._bar is not None:
            (task,) = self._bar.task_ids
            read = f", {records(event.records)}" if event.records else ""
            self._bar.update(
                task,
                completed=event.done_tasks,
                total=event.total_tasks or None,
                description=f"{self._run}{read}",
            )

    def _move_line(self, event: MicroBatch) -> None:
        self._last = event
        if self._line is not None:
            spinner = cast("Spinner", self._line.get_renderable())
            spinner.update(text=Text(sentence(event, self._run), overflow="ellipsis", no_wrap=True))

    def _write(self, event: JobEvent, style: str = "") -> None:
        self._console.print(Text(sentence(event, self._run), style=style), soft_wrap=True)


def _key(event: JobEvent) -> _Key:
    return event.job_id, event.pipeline


def _label(event: JobEvent, *, names_job: bool) -> str:
    """Return the begin of a line: the job if there are several, and the pipeline if the job has several."""
    job = f"{event.job_name} " if names_job else ""
    return job + (f"pipeline {event.pipeline} " if event.pipeline else "")


def _end(jobs: dict[_Key, _PlainJob], event: JobEnded) -> None:
    """Write what is delayed of a job that has ended, and forget it."""
    for key in [key for key in jobs if key[0] == event.job_id]:
        jobs.pop(key).close()


def _with_pending(event: MicroBatch | None, looked: PendingInputMeasured) -> MicroBatch | None:
    """Return a micro-batch with the measured pending input."""
    if event is None:
        return None
    return replace(
        event,
        records_behind=looked.records_behind,
        files_behind=looked.files_behind,
        catch_up_seconds=looked.catch_up_seconds,
    )


@contextmanager
def job_progress(
    console: Console, *, plain: bool = False, shows_metrics: bool = False
) -> Iterator[None]:
    """Show the progress of every job of this process.

    On a terminal it replaces `sys.stdout` and `sys.stderr`, so that the output of a program and the
    display do not mix.
    """
    if plain or not console.is_terminal or console.is_dumb_terminal:
        with _listening(PlainProgress(console, shows_metrics=shows_metrics)):
            yield
        return
    progress = TerminalProgress(console)
    with ExitStack() as stack:
        for stream, redirect in ((sys.stdout, redirect_stdout), (sys.stderr, redirect_stderr)):
            if stream.isatty():
                above = DisplayAwareStream(stream, console, lambda: progress.is_drawn)
                stack.callback(above.flush)
                stack.enter_context(redirect(cast("TextIO", above)))
        stack.enter_context(_listening(progress))
        yield


@contextmanager
def _listening(progress: PlainProgress | TerminalProgress) -> Iterator[None]:
    set_listeners(progress)
    try:
        yield
    finally:
        set_listeners(LogListener())
        progress.close()
