"""`penstock status` and `penstock top`: a job as its checkpoint directory shows it, as a table."""

from __future__ import annotations

import json as json_module
import time
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.job_observer import JobObserver
from penstock.cli.parameters import JobDir, Verbose
from penstock.cli.progress import duration
from penstock.observe.events.job_view import LOST, OVER
from penstock.observe.events.sentences import (
    human_bytes,
    human_duration,
    instant,
    rate,
    records,
    where_round_stands,
)

_STYLES = {"RUNNING": "green", "FINISHED": "green", "FAILED": "bold red", LOST: "bold red"}
_DRIVER_WORDS = {LOST: "its driver was killed; start the same command again to go on"}


def status_text(facts: dict[str, Any]) -> RenderableType:
    """Return the status for people."""
    status = facts["status"]
    head = Text(f"{facts['name']} ", style="bold")
    head.append(status, style=_STYLES.get(status, "yellow"))
    parts = [records(facts["records"])]
    if facts["behind_seconds"] is not None:
        parts.append(_behind(facts["behind_seconds"]))
    if facts["restarts"]:
        parts.append(f"{facts['restarts']:,} restart{'' if facts['restarts'] == 1 else 's'}")
    if status in _DRIVER_WORDS:
        parts.append(_DRIVER_WORDS[status])
    head.append(f"  {', '.join(parts)}")
    lines: list[RenderableType] = [head]
    if facts["error"]:
        lines.append(_error(facts["error"]))
    if facts["rounds"]:
        lines.append(_round_table(facts["rounds"]))
    if facts["runs"]:
        lines.append(_run_table(facts["runs"]))
    if facts["operators"]:
        lines.append(_operator_table(facts["operators"]))
    if facts["sinks"]:
        lines.append(_sink_table(facts["sinks"]))
    return Group(*lines)


def _behind(seconds: float) -> str:
    return "not behind" if not seconds else f"{human_duration(seconds)} behind"


def _error(error: dict[str, str]) -> Text:
    code = f"[{error['code']}] " if "code" in error else ""
    fix = f"\n  fix: {error['hint']}" if "hint" in error else ""
    place = f"\n  at: {error['origin']}" if "origin" in error else ""
    return Text(f"{code}{error['problem']}{fix}{place}", style="red")


def _run_table(runs: list[dict[str, Any]]) -> Table:
    table = _table("run", "progress", "records", "speed", "pending", "watermark")
    for run in runs:
        name = f"{run['pipeline']} {run['name']}" if run["pipeline"] else run["name"]
        _add_row(
            table,
            name,
            _progress(run),
            f"{run['records'] if run['records_so_far'] is None else run['records_so_far']:,}",
            _speed(run),
            _pending(run),
            instant(min(run["watermarks"].values())) if run["watermarks"] else "",
        )
    return table


def _round_table(rounds: list[dict[str, Any]]) -> Table:
    table = _table("round", "progress", "records", "speed", "position")
    for view in rounds:
        is_over = view["finished_ms"] is not None
        share = "" if is_over or view["progress"] is None else f", {view['progress']:.0%}"
        _add_row(
            table,
            f"{view['number']}",
            f"{'done in' if is_over else 'since'} {human_duration(view['seconds'])}{share}",
            f"{view['records']:,}",
            "".join(rate(view["records"], view["seconds"])),
            where_round_stands(view["behind"], is_last=view["is_last"]) if is_over else "",
        )
    return table


def _speed(run: dict[str, Any]) -> str:
    speed = run["records_per_second"]
    idle = "idle" if run["finished_ms"] is None else ""
    return "" if speed is None else "".join(rate(round(speed), 1.0)) or idle


_OUTCOMES = {
    "done": "done in",
    "failed": "failed after",
    "stopped": "stopped after",
    "lost": "lost after",
}


def _progress(run: dict[str, Any]) -> str:
    took = ""
    if run["switch_seconds"] is not None:
        took = f", switched in {human_duration(run['switch_seconds'])}"
    if run["attempts"] > 1:
        took += f", attempt {run['attempts']:,}"
    if run["finished_ms"] is not None:
        return f"{_OUTCOMES[run['outcome']]} {human_duration((run['finished_ms'] - run['started_ms']) / 1000)}{took}"
    if run["progress"] is not None and run["progress"] < 1:
        return f"{run['progress']:.0%}{took}"
    return f"running{took}"


def _pending(run: dict[str, Any]) -> str:
    if run["finished_ms"] is not None:
        return ""
    parts = []
    if run["records_behind"]:
        parts.append(records(run["records_behind"]))
    if run["files_behind"]:
        parts.append(f"{run['files_behind']:,} file{'' if run['files_behind'] == 1 else 's'}")
    if run["catch_up_seconds"] and parts:
        parts.append(f"about {human_duration(run['catch_up_seconds'])}")
    is_known = run["records_behind"] is not None or run["files_behind"] is not None
    return ", ".join(parts) or ("nothing" if is_known else "")


def _operator_table(operators: list[dict[str, Any]]) -> Table:
    table = _table("operator", "uid", "records in", "out", "busy", "state", "subtasks")
    for operator in operators:
        name = f"{'  ' * operator['level']}{operator['name']}"
        _add_row(
            table,
            name,
            operator["uid"],
            f"{operator['records']:,}",
            "" if operator["records_out"] is None else f"{operator['records_out']:,}",
            f"{operator['busy_seconds']:.1f} s",
            _state_and_late(operator),
            _hot(operator),
        )
    return table


def _state(operator: dict[str, Any]) -> str:
    keys, size = operator["state_keys"], operator["state_bytes"]
    parts = [] if keys is None else [f"{keys:,} key{'' if keys == 1 else 's'}"]
    parts += [] if size is None else [human_bytes(size)]
    return ", ".join(parts)


def _state_and_late(operator: dict[str, Any]) -> str:
    late = operator["late_records"]
    return ", ".join(filter(None, [_state(operator), f"{late:,} late dropped" if late else ""]))


def _hot(operator: dict[str, Any]) -> Text:
    hot, received = operator["hot_subtask"], operator["subtask_records"]
    if hot is None:
        return Text("")
    share = received[hot] / sum(received)
    return Text(f"{hot} of {len(received)} gets {share:.0%}", style="yellow")


def _sink_table(sinks: list[dict[str, Any]]) -> Table:
    table = _table("sink", "uid", "records", "commits", "took", "files", "size")
    for sink in sinks:
        files, size = sink["files"], sink["bytes"]
        _add_row(
            table,
            sink["name"],
            sink["uid"],
            f"{sink['records']:,}",
            f"{sink['commits']:,}",
            human_duration(sink["commit_seconds"]),
            "" if files is None else f"{files:,}",
            "" if size is None else human_bytes(size),
        )
    return table


_NUMBERS = frozenset(
    {"records", "records in", "out", "speed", "busy", "state", "commits", "took", "files", "size"}
)


def _add_row(table: Table, *cells: str | Text) -> None:
    """Add a row in which brackets, which names may have, are no markup."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    return table


FAILED_STATUS, BEHIND_STATUS = 1, 2
"""Exit statuses: the job has failed or its driver was killed; it is behind more than allowed."""

_PIPE_WIDTH = 220


def status(
    job_dir: JobDir,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    max_behind: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            show_default=False,
            help="Exit with 2 if input waits longer than this, such as 30s.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Print the status of a job that runs anywhere, or is over.

    The exit status is for health checks: 0 if the job runs or has ended well, 1 if it has failed or
    its driver was killed, 2 if it is behind more than --max-behind.
    """
    console = Console(stderr=True)

    def action() -> int:
        limit = None if max_behind is None else duration("--max-behind", max_behind)
        job_status = JobObserver.at(job_dir).status()
        if json:
            typer.echo(json_module.dumps(job_status, ensure_ascii=False))
        else:
            _console().print(status_text(job_status))
        return _exit_status(job_status, limit, console)

    raise typer.Exit(exit_status(action, console, verbose=verbose, advice=lambda _: "stopped"))


def top(
    job_dir: JobDir,
    *,
    interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Time between two looks.")
    ] = "1s",
    verbose: Verbose = False,
) -> None:
    """Show the status of a job until it is over, or until Ctrl-C.

    Without a terminal it is printed once.
    """
    stderr = Console(stderr=True)

    def action() -> int:
        pause = duration("--interval", interval)
        observer, console = JobObserver.at(job_dir), _console()
        if not console.is_terminal:
            console.print(status_text(observer.status()))
            return 0
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while True:
                job_status = observer.status()
                live.update(status_text(job_status), refresh=True)
                if job_status["status"] in OVER or job_status["status"] == LOST:
                    break
                time.sleep(pause.total_seconds())
        console.print(status_text(job_status))
        return 0

    raise typer.Exit(
        exit_status(action, stderr, verbose=verbose, advice=lambda _: "the job goes on")
    )


def _exit_status(facts: dict[str, Any], limit: timedelta | None, console: Console) -> int:
    if facts["status"] in {"FAILED", LOST}:
        return FAILED_STATUS
    behind = facts["behind_seconds"]
    if limit is None:
        return 0
    if behind is None:
        is_live = any(run["kind"] == "live" and run["finished_ms"] is None for run in facts["runs"])
        if is_live:
            warning = "no source counts the pending input of this job: --max-behind has no effect"
            console.print(Text(warning, style="yellow"), soft_wrap=True)
        return 0
    return BEHIND_STATUS if behind > limit.total_seconds() else 0


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)
