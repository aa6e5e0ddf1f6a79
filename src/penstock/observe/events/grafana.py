"""A dashboard of Grafana over the metrics of `metric_table`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SCHEMA = 39
"""Version of Grafana's dashboards; later versions of Grafana migrate it."""

_COLUMNS, _WIDTH, _HEIGHT = 24, 12, 8
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_JOB = '{job_name=~"$job"}'


@dataclass(frozen=True, slots=True)
class _Panel:
    """One panel.

    Attributes:
        unit: Grafana's name of the unit.
        query: With `JOB` where the job is chosen.
        legend: Legend of a series.
        kind: Grafana's name of the panel.
    """

    title: str
    unit: str
    query: str
    legend: str
    kind: str = "timeseries"

    @property
    def expression(self) -> str:
        return self.query.replace("JOB", _JOB)


_PANELS = (
    _Panel("Status", "none", "penstock_job_statusJOB == 1", "{{job_name}} {{status}}", "stat"),
    _Panel("Behind", "s", "penstock_run_behind_secondsJOB", "{{job_name}} {{run}}", "stat"),
    _Panel(
        "Records read", "cps", "rate(penstock_run_records_totalJOB[1m])", "{{job_name}} {{run}}"
    ),
    _Panel("How long input waits", "s", "penstock_run_behind_secondsJOB", "{{job_name}} {{run}}"),
    _Panel("Pending records", "short", "penstock_run_pending_recordsJOB", "{{job_name}} {{run}}"),
    _Panel("Pending files", "short", "penstock_run_pending_filesJOB", "{{job_name}} {{run}}"),
    _Panel("Progress", "percentunit", "penstock_run_progress_ratioJOB", "{{job_name}} {{run}}"),
    _Panel("Last micro-batch", "s", "penstock_run_micro_batch_secondsJOB", "{{run}} {{part}}"),
    _Panel(
        "Lag of watermarks", "s", "penstock_run_watermark_lag_secondsJOB", "{{job_name}} {{run}}"
    ),
    _Panel("Records per source", "cps", "rate(penstock_source_records_totalJOB[1m])", "{{source}}"),
    _Panel(
        "Records per operator",
        "cps",
        "rate(penstock_operator_records_totalJOB[1m])",
        "{{operator}}",
    ),
    _Panel(
        "Busy operators",
        "short",
        "rate(penstock_operator_busy_seconds_totalJOB[1m])",
        "{{operator}}",
    ),
    _Panel(
        "Where time goes",
        "short",
        "sum by (section) (rate(penstock_section_seconds_totalJOB[1m]))",
        "{{section}}",
    ),
    _Panel(
        "Records per subtask",
        "cps",
        "rate(penstock_operator_subtask_records_totalJOB[1m])",
        "{{operator}} {{subtask}}",
    ),
    _Panel("Size of state", "bytes", "penstock_operator_state_bytesJOB", "{{operator}}"),
    _Panel("Keys with state", "short", "penstock_operator_state_keysJOB", "{{operator}}"),
    _Panel("Records to sinks", "cps", "rate(penstock_sink_records_totalJOB[1m])", "{{sink}}"),
    _Panel(
        "Time of commits",
        "short",
        "rate(penstock_sink_commit_seconds_totalJOB[1m])",
        "{{sink}}",
    ),
    _Panel("State written", "Bps", "rate(penstock_state_log_bytes_totalJOB[1m])", "changes"),
    _Panel("Uses of state", "short", "rate(penstock_state_copy_uses_totalJOB[1m])", "{{how}}"),
    _Panel("Restarts", "short", "increase(penstock_job_restarts_totalJOB[1h])", "{{job_name}}"),
    _Panel("Metrics of functions", "short", "penstock_operator_metricJOB", "{{operator}} {{name}}"),
    _Panel(
        "Distributions of functions",
        "short",
        "penstock_operator_distributionJOB",
        "{{operator}} {{name}} {{quantile}}",
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard, as Grafana imports it.

    Examples:
        >>> made = dashboard()
        >>> made["title"], made["panels"][0]["title"]
        ('Penstock', 'Status')
    """
    return {
        "title": "Penstock",
        "uid": "penstock",
        "tags": ["penstock"],
        "schemaVersion": _SCHEMA,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                {
                    "name": "job",
                    "type": "query",
                    "datasource": _SOURCE,
                    "query": "label_values(penstock_job_status, job_name)",
                    "multi": True,
                    "includeAll": True,
                    "refresh": 2,
                },
            ]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(_PANELS)],
    }


def _panel(number: int, panel: _Panel) -> dict[str, Any]:
    in_row = _COLUMNS // _WIDTH
    return {
        "id": number + 1,
        "title": panel.title,
        "type": panel.kind,
        "datasource": _SOURCE,
        "gridPos": {
            "x": number % in_row * _WIDTH,
            "y": number // in_row * _HEIGHT,
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": _SOURCE,
                "expr": panel.expression,
                "legendFormat": panel.legend,
            }
        ],
    }
