"""The status of a job as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.events.job_view import LOST
from penstock.events.sentences import human_bytes, human_duration, instant, rate, records

_STYLES = {"RUNNING": "green", "FINISHED": "green", "FAILED": "bold red", LOST: "bold red"}
_DRIVER_WORDS = {LOST: "its driver was killed; start the same command again to go on"}


def status_text(found: dict[str, Any]) -> RenderableType:
    """Return the status for people.

    Args:
        found: Of `status_json`.
    """
    status = found["status"]
    head = Text(f"{found['name']} ", style="bold")
    head.append(status, style=_STYLES.get(status, "yellow"))
    parts = [records(found["records"])]
    if found["behind_seconds"] is not None:
        parts.append(_behind(found["behind_seconds"]))
    if found["restarts"]:
        parts.append(f"{found['restarts']:,} restart{'' if found['restarts'] == 1 else 's'}")
    if status in _DRIVER_WORDS:
        parts.append(_DRIVER_WORDS[status])
    head.append(f"  {', '.join(parts)}")
    lines: list[RenderableType] = [head]
    if found["error"]:
        lines.append(_error(found["error"]))
    if found["runs"]:
        lines.append(_run_table(found["runs"]))
    if found["operators"]:
        lines.append(_operator_table(found["operators"]))
    if found["sinks"]:
        lines.append(_sink_table(found["sinks"]))
    return Group(*lines)


def _behind(seconds: float) -> str:
    return "not behind" if not seconds else f"{human_duration(seconds)} behind"


def _error(error: dict[str, str]) -> Text:
    code = f"[{error['code']}] " if "code" in error else ""
    fix = f"\n  fix: {error['hint']}" if "hint" in error else ""
    at = f"\n  at: {error['origin']}" if "origin" in error else ""
    return Text(f"{code}{error['problem']}{fix}{at}", style="red")


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
    for each in operators:
        name = f"{'  ' * each['level']}{each['name']}"
        _add_row(
            table,
            name,
            each["uid"],
            f"{each['records']:,}",
            "" if each["records_out"] is None else f"{each['records_out']:,}",
            f"{each['busy_seconds']:.1f} s",
            _state_and_late(each),
            _hot(each),
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
    for each in sinks:
        files, size = each["files"], each["bytes"]
        _add_row(
            table,
            each["name"],
            each["uid"],
            f"{each['records']:,}",
            f"{each['commits']:,}",
            human_duration(each["commit_seconds"]),
            "" if files is None else f"{files:,}",
            "" if size is None else human_bytes(size),
        )
    return table


_NUMBERS = frozenset(
    {"records", "records in", "out", "speed", "busy", "state", "commits", "took", "files", "size"}
)


def _add_row(table: Table, *cells: str | Text) -> None:
    """Add a row in which brackets, which names may have, are no markup."""
    table.add_row(*(Text(each) if isinstance(each, str) else each for each in cells))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    return table
