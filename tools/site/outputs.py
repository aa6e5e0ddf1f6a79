"""What the programs of the first page and of the cookbook print: the page shows it, and a test compares.

python -m tools.site.outputs

Programs run in this process, so that no Spark is needed. A recipe is a block of Python with a block of text behind it.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.connectors.python.print_sink import PrintSink, text_form
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import run_in_process

COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook"
PAGES = (
    COOKBOOK.with_name("index.md"),
    *(COOKBOOK / f"{name}.md" for name in ("state", "time", "streams", "outside")),
)
"""The first page, and those of the cookbook whose programs need neither Spark nor another system."""

RECIPE = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<text>(?:(?!^## ).)*?)^```python\n(?P<program>.*?)^```\n\n```text\n(?P<shown>.*?)```\n",
    re.DOTALL | re.MULTILINE,
)


def printed(program: str, name: str) -> str:
    """Return what a program prints, with its jobs run in this process.

    Args:
        program: The source.
        name: Of the page, for messages.
    """
    # A module that can be found: what a program defines is pickled.
    module = ModuleType(re.sub(r"\W", "_", name))
    out = io.StringIO()
    sys.modules[module.__name__] = module
    try:
        with _run_in_process(), redirect_stdout(out):
            exec(compile(program, name, "exec"), vars(module))  # noqa: S102 - our own documentation
    finally:
        del sys.modules[module.__name__]
    return out.getvalue()


def with_outputs(page: Path) -> str:
    """Return the text of a page, in which each program is followed by what it prints."""

    def made(found: re.Match[str]) -> str:
        start, end = found.span("shown")
        whole, begin = found[0], found.start()
        output = printed(found["program"], page.name)
        return whole[: start - begin] + output + whole[end - begin :]

    return RECIPE.sub(made, page.read_text(encoding="utf-8"))


@contextmanager
def _run_in_process() -> Iterator[None]:
    """Let `execute` run jobs here, and print what print sinks get, without the number of a subtask."""
    before = StreamExecutionEnvironment.execute

    def execute(env: StreamExecutionEnvironment, job_name: str | None = None) -> Any:  # noqa: ARG001
        plan = env.plan()
        results = run_in_process(plan)
        for sink, records in zip(plan.sinks, results.records, strict=True):
            if isinstance(sink.sink, PrintSink):
                form = text_form(sink.type_info)
                start = replace(sink.sink, show_subtask=False).describe().removeprefix("print")
                for record in records:
                    sys.stdout.write(f"{start.strip() + '> ' if start else ''}{form(record)}\n")

    StreamExecutionEnvironment.execute = execute  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        StreamExecutionEnvironment.execute = before  # type: ignore[method-assign]


def main() -> None:
    """Write the outputs into the pages."""
    for page in PAGES:
        page.write_text(with_outputs(page), encoding="utf-8")


if __name__ == "__main__":
    main()
