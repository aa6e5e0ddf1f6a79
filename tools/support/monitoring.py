"""Write what is generated from the table of metrics: its page, and the dashboard of Grafana.

python -m tools.support.monitoring
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.observe.events.grafana import dashboard
from penstock.observe.events.metric_table import METRICS, MetricRow

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- metrics: begin -->\n", "<!-- metrics: end -->\n"


def main() -> None:
    """Rewrite the files in place."""
    path = DOCS / "monitoring.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}{metric_rows()}{END}{after}", encoding="utf-8")
    text = json.dumps(dashboard(), indent=2)
    (DOCS / "grafana.json").write_text(f"{text}\n", encoding="utf-8")


def metric_rows() -> str:
    """Return the list of metrics in Markdown."""
    return "".join(f"{metric_line(row)}\n" for row in METRICS)


def metric_line(row: MetricRow) -> str:
    """Return the line of a metric."""
    facts = ", ".join((row.kind.value, *(f"`{label}`" for label in row.labels)))
    return f"* `{row.name}` ({facts}): {row.help}"


if __name__ == "__main__":
    main()
