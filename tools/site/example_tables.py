"""The page of the examples: what each shows, how it is run, and the tables that it prints.

python -m tools.site.example_tables

The tables are made in this process; `tests/spark/test_result_examples.py` compares them with those of Spark.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from examples.results import Fields, Result, final_rows, table, written
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.testing import Schedule, run_in_process

PAGE = Path(__file__).parents[2] / "docs" / "examples.md"
EXAMPLES = (
    "fraud",
    "sessions",
    "orders_with_customers",
    "dead_letters",
    "enrichment",
    "sensors",
    "shop.project",
)
"""Modules of `examples` whose `build` returns streams by name."""

_MOST_ROWS = 6
"""Rows of a table on the page; the program prints all."""

_TITLES = {"shop.project": "A folder of SQL"}

MIXED = {"execution.history": "batch"}
_BLOCK = re.compile(r"(<!-- tables -->\n).*?(<!-- /tables -->)", re.DOTALL)


def answers(
    example: str, settings: dict[str, str] | None = None, schedule: Schedule | None = None
) -> dict[str, list[Fields]]:
    """Run an example in this process and return the rows of its tables, by name.

    Args:
        example: Its module.
        settings: Of the job; None is history as a batch, then live.
        schedule: Of the run.
    """
    env = StreamExecutionEnvironment(Configuration.from_dict(dict(settings or MIXED)))
    results: dict[str, Result] = importlib.import_module(f"examples.{example}").build(env)
    for name, result in results.items():
        written(name, result, DiscardingSink())
    found = run_in_process(env, schedule)
    return {
        name: final_rows([row.as_dict() for row in found.of(name)], result.key)
        for name, result in results.items()
    }


def shown(example: str) -> str:
    """Return what an example prints."""
    return "".join(f"{table(name, rows)}\n" for name, rows in answers(example).items())


def beginning(printed: str) -> str:
    """Return the first rows of each printed table, with a mark where more follow."""
    tables = (text.splitlines() for text in printed.rstrip().split("\n\n"))
    most = _MOST_ROWS + 2  # below the name and the columns
    return "\n\n".join("\n".join([*rows[:most], *["  …"] * (len(rows) > most)]) for rows in tables)


def with_tables(text: str) -> str:
    """Return the page with the tables between its marks."""
    made = "\n".join(map(_section, EXAMPLES))
    return _BLOCK.sub(lambda found: f"{found[1]}{made}{found[2]}", text)


def _section(example: str) -> str:
    module = importlib.import_module(f"examples.{example}")
    about = inspect.cleandoc(module.__doc__ or "")
    first, _, rest = about.partition("\n\n")
    _, _, more = rest.partition("\n\n")
    title = _TITLES.get(example, example.replace("_", " ").capitalize())
    said = f"{first}\n" + (f"\n{more}\n" if more else "")
    return (
        f"## {title}\n\n{said}\n```sh\npython -m examples.{example}\n```\n\n"
        f"```text\n{beginning(shown(example))}\n```\n\n[The program](../examples/{example.replace('.', '/')}.py)\n"
    )


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
