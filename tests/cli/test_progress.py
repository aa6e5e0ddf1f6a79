"""What progress looks like, on a terminal and elsewhere."""

# ruff: noqa: T201 - what programs print is tested here

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from penstock.cli.progress import DisplayAwareStream, PlainProgress, TerminalProgress, job_progress
from penstock.metrics.values import CounterValue
from penstock.observe.events.job_events import (
    BatchProgress,
    JobEnded,
    MetricsReported,
    MicroBatch,
    PendingInputMeasured,
    Resumed,
    RunFinished,
    RunStarted,
    Switched,
)
from penstock.observe.events.listeners import JobEvents, publish

HISTORY = RunStarted("history", "batch", "flights", bounded=True)
HISTORY_DONE = RunFinished("history", "batch", 4_000_000, 3.2)
SWITCHED = Switched(0.8, 1_383_263_940_000)
LIVE = RunStarted("live", "live", "flights", bounded=False)
LIVE_DONE = RunFinished("live", "live", 40, 2.0)

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def micro_batch(number):
    return MicroBatch(number, 10, 10 * (number + 1), 0.5, 1500)


def terminal_console(file):
    return Console(
        file=file, force_terminal=True, width=80, color_system=None, _environ={"TERM": "xterm"}
    )


def screen(text):
    """Return the lines a terminal shows at the end, with the few controls that are used here."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[0-9?;]*[a-zA-Z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[2K":
            lines[row] = ""
        elif found := re.fullmatch(r"\x1b\[(\d+)A", part):
            row -= int(found[1])
        elif part[0] not in "\r\x1b":
            lines[row] += part
    return [line.rstrip() for line in lines if line.strip()]


def redraw(progress):
    """Do now what the display does four times a second."""
    display = progress._bar or progress._line
    display.refresh()


@pytest.fixture
def plain():
    file, clock = io.StringIO(), Clock()
    progress = PlainProgress(Console(file=file, width=40), clock)
    return progress, clock, lambda: file.getvalue().splitlines()


def test_plain_writes_one_line_per_start_finish_and_switch(plain):
    progress, _, lines = plain
    for event in (HISTORY, BatchProgress(1, 9, 0.1), HISTORY_DONE, SWITCHED, LIVE, LIVE_DONE):
        progress.on_event(event)
    assert lines() == [
        "history: started, reads flights",
        "history: 4,000,000 records in 3.2 s (1,250,000 records/s)",
        "switched in 0.8 s at watermark 2013-10-31T23:59:00Z",
        "live: started, reads flights",
        "live: 40 records in 2.0 s (20 records/s)",
    ]


def test_plain_writes_a_live_line_per_ten_seconds_and_the_last(plain):
    progress, clock, lines = plain
    progress.on_event(LIVE)
    for number in range(26):
        clock.now = number
        progress.on_event(micro_batch(number))
    progress.on_event(LIVE_DONE)
    numbers = [int(n) for n in re.findall(r"micro-batch (\d+)", "\n".join(lines()))]
    assert numbers == [0, 10, 20, 25]
    assert lines()[-1].startswith("live: 40 records")


def test_plain_close_writes_the_last_live_line_once(plain):
    progress, _, lines = plain
    for event in (LIVE, micro_batch(0), micro_batch(1)):
        progress.on_event(event)
    progress.close()
    progress.close()
    assert [line[:19] for line in lines()[1:]] == ["live: micro-batch 0", "live: micro-batch 1"]


@pytest.mark.parametrize(("left", "shown"), [(0, False), (2, True)])
def test_the_last_line_says_what_is_behind_by_then(plain, left, shown):
    progress, _, lines = plain
    terminal = Terminal()
    drawn = TerminalProgress(terminal_console(terminal))
    for each in (progress, drawn):
        each.on_event(PendingInputMeasured(None, 1, None))
        each.on_event(LIVE)
        each.on_event(replace(micro_batch(1), files_behind=1))
        each.on_event(PendingInputMeasured(None, left, None))
        each.close()
    for last in (lines()[-1], screen(terminal.getvalue())[-1]):
        assert last.startswith("live: micro-batch 1,")
        assert (f"{left} files behind" in last) == shown
        assert ("behind" in last) == shown


@pytest.mark.parametrize("shows_metrics", [True, False])
def test_plain_writes_metrics_at_the_end_of_a_run_if_asked(shows_metrics):
    file = io.StringIO()
    progress = PlainProgress(Console(file=file), Clock(), shows_metrics=shows_metrics)
    for seen in (1, 40):
        progress.on_event(MetricsReported({"m.seen": CounterValue(seen)}, {"log_bytes": seen}))
    progress.on_event(LIVE_DONE)
    shown = ["job:   m.seen 40", "job:   state.log_bytes 40"] if shows_metrics else []
    assert file.getvalue().splitlines()[1:] == shown


def test_plain_long_batch_run_is_not_silent(plain):
    progress, clock, lines = plain
    progress.on_event(HISTORY)
    for second in range(25):
        clock.now = second
        progress.on_event(BatchProgress(second, 100, second))
    assert lines()[1:] == [
        "history: 10 of 100 tasks after 10.0 s",
        "history: 20 of 100 tasks after 20.0 s",
    ]


def test_plain_says_nothing_of_tasks_before_there_are_any(plain):
    progress, clock, lines = plain
    progress.on_event(HISTORY)
    clock.now = 15
    progress.on_event(BatchProgress(0, 0, 15.0))
    clock.now = 16
    progress.on_event(BatchProgress(0, 2, 16.0))
    assert lines()[1:] == ["history: 0 of 2 tasks after 16.0 s"]


def test_terminal_draws_a_bar_and_replaces_it_by_the_summary():
    file = Terminal()
    progress = TerminalProgress(terminal_console(file))
    progress.on_event(HISTORY)
    progress.on_event(BatchProgress(3, 12, 0.1))
    redraw(progress)
    assert re.fullmatch(r"history \S+ +3/12 tasks 0:00:00", screen(file.getvalue())[-1])
    progress.on_event(BatchProgress(3, 40, 0.2, 1_200))
    redraw(progress)
    assert " 3/40 tasks" in screen(file.getvalue())[-1]
    assert "history, 1,200 records" in screen(file.getvalue())[-1]
    progress.on_event(HISTORY_DONE)
    assert screen(file.getvalue()) == [
        "history: started, reads flights",
        "history: 4,000,000 records in 3.2 s (1,250,000 records/s)",
    ]
    assert not progress.is_drawn


def test_terminal_updates_one_live_line_in_place():
    file = Terminal()
    progress = TerminalProgress(terminal_console(file))
    progress.on_event(LIVE)
    for number in range(3):
        progress.on_event(micro_batch(number))
        redraw(progress)
    shown = screen(file.getvalue())
    assert len(shown) == 2
    assert shown[1].endswith("live: micro-batch 2, 10 records, 20 records/s, 30 in all, lag 1.5 s")
    progress.on_event(LIVE_DONE)
    assert screen(file.getvalue())[1:] == ["live: 40 records in 2.0 s (20 records/s)"]


def test_terminal_keeps_the_live_line_on_one_line_when_it_is_narrow():
    file = Terminal()
    console = terminal_console(file)
    console.width = 30
    progress = TerminalProgress(console)
    progress.on_event(LIVE)
    progress.on_event(micro_batch(0))
    redraw(progress)
    assert len(screen(file.getvalue())[-1]) <= 30
    progress.close()


def test_terminal_close_leaves_the_last_state_and_the_cursor():
    file = Terminal()
    progress = TerminalProgress(terminal_console(file))
    progress.on_event(LIVE)
    progress.on_event(micro_batch(4))
    progress.close()
    progress.close()
    assert [line[:19] for line in screen(file.getvalue())][1:] == ["live: micro-batch 4"]
    assert file.getvalue().rindex(SHOW_CURSOR) > file.getvalue().rindex(HIDE_CURSOR)


def test_prints_of_the_program_stay_whole_above_the_live_line(monkeypatch):
    file = Terminal()
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setattr(sys, "stderr", file)
    long = "[bold]" + "wide " * 40 + "\ttab"
    with job_progress(terminal_console(file)):
        print("before")
        publish(LIVE)
        publish(micro_batch(0))
        print("half ", end="", flush=True)
        print("line")
        print(long)
        print("to stderr", file=sys.stderr)
        publish(LIVE_DONE)
        print("after")
    assert screen(file.getvalue()) == [
        "before",
        "live: started, reads flights",
        "half line",
        long,
        "to stderr",
        "live: 40 records in 2.0 s (20 records/s)",
        "after",
    ]


def test_a_started_line_is_not_lost_when_the_program_ends(monkeypatch):
    file = Terminal()
    monkeypatch.setattr(sys, "stdout", file)
    with job_progress(terminal_console(file)):
        publish(LIVE)
        print("half", end="")
    assert screen(file.getvalue())[-1] == "half"


def test_stdout_is_left_alone_when_it_is_not_a_terminal(monkeypatch):
    stdout = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    with job_progress(terminal_console(Terminal())):
        publish(LIVE)
        print("a,b")
        assert sys.stdout is stdout
    assert stdout.getvalue() == "a,b\n"


def test_streams_are_put_back(monkeypatch):
    file = Terminal()
    monkeypatch.setattr(sys, "stdout", file)
    with job_progress(terminal_console(file)):
        inside: object = sys.stdout
    assert isinstance(inside, DisplayAwareStream)
    assert inside.isatty()
    assert inside.rich_proxied_file is sys.stdout is file


@pytest.mark.parametrize(
    ("console", "plain"),
    [
        (lambda file: Console(file=file, width=80), False),
        (lambda file: Console(file=file, force_terminal=True, _environ={"TERM": "dumb"}), False),
        (terminal_console, True),
    ],
    ids=["not a terminal", "dumb terminal", "asked for"],
)
def test_lines_are_plain(console, plain):
    file = io.StringIO()
    with job_progress(console(file), plain=plain):
        publish(LIVE)
        publish(micro_batch(0))
    assert "\x1b" not in file.getvalue()
    assert len(file.getvalue().splitlines()) == 2


@pytest.mark.parametrize("is_terminal", [False, True])
def test_lines_of_jobs_that_run_at_the_same_time_do_not_mix(is_terminal):
    """Each has its run, its throttle and its name; a job alone needs none."""
    file = Terminal() if is_terminal else io.StringIO()
    console = terminal_console(file) if is_terminal else Console(file=file, width=80)
    one, two, three = (JobEvents(name, name) for name in ("one", "two", "three"))
    with job_progress(console):
        one.publish(LIVE)
        two.publish(HISTORY)
        one.publish(micro_batch(0))
        two.publish(Resumed("somewhere"))
        two.publish(HISTORY_DONE)
        two.publish(JobEnded("FAILED"))
        one.publish(LIVE_DONE)
        one.publish(JobEnded("FINISHED"))
        three.publish(LIVE)
        three.publish(LIVE_DONE)
    lines = screen(file.getvalue()) if is_terminal else file.getvalue().splitlines()
    found = [line[:22].removeprefix("one ") for line in lines if "micro-batch" not in line]
    assert found == [
        "live: started, reads f",
        "two history: started, ",
        "two resumed: somewhere",
        "two history: 4,000,000",
        "live: 40 records in 2.",
        "live: started, reads f",
        "live: 40 records in 2.",
    ]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_lines_of_pipelines_name_them(is_terminal):
    """Each has its run and its throttle; what is about the whole job names none."""
    file = Terminal() if is_terminal else io.StringIO()
    console = terminal_console(file) if is_terminal else Console(file=file, width=80)
    whole, zero, one = (JobEvents("id", "job", number) for number in ("", "0", "1"))
    with job_progress(console):
        zero.publish(LIVE)
        one.publish(HISTORY)
        zero.publish(micro_batch(0))
        whole.publish(Resumed("somewhere"))
        one.publish(HISTORY_DONE)
        zero.publish(LIVE_DONE)
        whole.publish(JobEnded("FINISHED"))
    lines = screen(file.getvalue()) if is_terminal else file.getvalue().splitlines()
    found = [line[:25].removeprefix("pipeline 0 ") for line in lines if "micro-batch" not in line]
    of_live = [line[:11] for line in found if line.startswith("live")]
    assert of_live == ["live: start", "live: 40 re"]
    assert [line for line in found if not line.startswith("live")] == [
        "pipeline 1 history: start",
        "resumed: somewhere",
        "pipeline 1 history: 4,000",
    ]
