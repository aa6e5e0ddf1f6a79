"""Content of the page, as JSON: the plan once, the status whenever it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.config.options import ALL_OPTIONS
from penstock.errors import ConfigError
from penstock.events.job_events import SavepointTaken
from penstock.events.job_view import JobView
from penstock.events.status_json import status_json
from penstock.ui.graph_layout import layout_of

_MOST_BARS = 60
_MOST_RUNS = 24
_OPTIONS = {key: option for option in ALL_OPTIONS for key in option.keys}


def plan_json(view: JobView) -> dict[str, Any]:
    """Return what stays as it is while a driver runs the job.

    Raises:
        EnvironmentSetupError: The extra `ui` is not installed.
    """
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
    """Return what changes.

    Args:
        view: The job that is shown.
        views: All jobs that can be chosen.
        now_ms: Now, in epoch milliseconds.
    """
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
            "jobs": [{"id": each.job_id, "name": each.job_name} for each in views],
            "micro_batches": [
                {
                    "number": each.number,
                    "records": each.records,
                    "seconds": each.seconds,
                    "durations": dict(each.durations),
                }
                for each in batches
            ],
            "savepoints": [
                {
                    "path": each.path,
                    "seconds": each.seconds,
                    "size_bytes": each.size_bytes,
                    "at_ms": each.at_ms,
                    "problem": None,
                }
                if isinstance(each, SavepointTaken)
                else {"path": None, "problem": each.problem, "at_ms": each.at_ms}
                for each in view.savepoints
            ],
        }
