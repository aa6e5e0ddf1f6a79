"""`penstock plan`: the plan of a program as text or as one SVG file, without starting Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import typer
from rich.console import Console
from rich.text import Text

from penstock.api.environment.execution_plan import execution_plan_json
from penstock.api.environment.job import PlanReady
from penstock.cli.evolution import evolution_text
from penstock.cli.failures import exit_status
from penstock.cli.parameters import (
    Definitions,
    HistoryTables,
    ScriptArguments,
    ScriptPath,
    StartEmpty,
    Verbose,
    history_settings,
    writable_file,
)
from penstock.cli.script import run_script, settings, write_text
from penstock.config.configuration import set_process_overrides
from penstock.config.options import TARGET, RuntimeExecutionMode
from penstock.errors import PenstockError
from penstock.observe.events.sentences import changed_function
from penstock.observe.ui.graph_layout import layout_of
from penstock.plan.compat.function_digest import changed_functions
from penstock.plan.explain.estimate import estimate, render_estimate
from penstock.plan.explain.outline import describe_unnamed_state, edges_of, nodes_of
from penstock.plan.explain.render import render_mermaid, render_text
from penstock.plan.physical import PhysicalPlan
from penstock.spark.driver.changed_functions import recorded_functions

_STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif; }
.node { fill: #f4f6f8; stroke: #5b6875; } .end { fill: #e3eefb; }
.edge { fill: none; stroke: #5b6875; } .exchange { stroke: #b4530a; stroke-dasharray: 5 3; } .tip { fill: #5b6875; }
.name { fill: #14181c; text-anchor: middle; } .small { fill: #4a5560; font-size: 11px; text-anchor: middle; }
.way { fill: #8a3f06; font-size: 11px; }
@media (prefers-color-scheme: dark) {
  svg { background: #14181c; } .node { fill: #232a31; stroke: #8b98a5; } .end { fill: #1c3147; }
  .edge { stroke: #8b98a5; } .exchange { stroke: #f0a35e; } .tip { fill: #8b98a5; }
  .name { fill: #f1f4f7; } .small { fill: #b3bec9; } .way { fill: #f0a35e; }
}
"""
_NAME_AT, _KIND_AT = 0.42, 0.78
"""Beginnings of the lines of text, as shares of the height of a node."""

_BESIDE = 4
"""Pixels between an edge and its label."""


def plan_svg(plan: PhysicalPlan) -> str:
    """Return the graph of a plan as SVG. Broken lines are exchanges between levels."""
    nodes = [node.to_json() for node in nodes_of(plan)]
    layout = layout_of(nodes, [edge.to_json() for edge in edges_of(plan)])
    width, height = layout["width"], layout["height"]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        "<title>Plan of the job</title>",
        f"<style>{_STYLE}</style>",
        *(line for edge in layout["edges"] for line in _edge(edge)),
        *(
            line
            for node, of in zip(layout["nodes"], nodes, strict=True)
            for line in _node(node, of)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _edge(edge: Mapping[str, Any]) -> Iterator[str]:
    points = " ".join(f"{x},{y}" for x, y in edge["points"])
    kind = "edge exchange" if edge["is_exchange"] else "edge"
    yield f'<polyline class="{kind}" points="{points}"/>'
    x, y = edge["points"][-1]
    yield f'<polygon class="tip" points="{x},{y} {x - 4},{y - 8} {x + 4},{y - 8}"/>'
    if edge["label"]:
        x, y = edge["label_at"]
        yield f'<text class="way" x="{x + _BESIDE}" y="{y}">{escape(edge["label"])}</text>'


def _node(node: Mapping[str, Any], of: Mapping[str, Any]) -> Iterator[str]:
    x, y, width, height = (node[name] for name in ("x", "y", "width", "height"))
    kind = "node end" if of["kind"] in {"source", "sink"} else "node"
    middle = round(x + width / 2, 1)
    yield "<g>"
    yield f"<title>{escape(_facts(of))}</title>"
    yield f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
    name, small = round(y + height * _NAME_AT, 1), round(y + height * _KIND_AT, 1)
    yield f'<text class="name" x="{middle}" y="{name}">{escape(node["label"])}</text>'
    yield f'<text class="small" x="{middle}" y="{small}">{escape(node["details"])}</text>'
    yield "</g>"


def _facts(of: Mapping[str, Any]) -> str:
    parallelism = "" if of["parallelism"] is None else f", parallelism {of['parallelism']}"
    origin = f", {of['origin']}" if of["origin"] else ""
    return f"{of['name']}, uid {of['uid']}, level {of['level']}{parallelism}{origin}"


class PlanForm(Enum):
    """The format of a printed plan."""

    TEXT = 0
    """Text: runs, levels, sinks and the reason of each decision."""

    MERMAID = 1
    """A Mermaid flowchart."""

    JSON = 2
    """The logical graph, in the shape of Flink's execution plan."""


RENDERERS: dict[PlanForm, Callable[[PhysicalPlan], str]] = {
    PlanForm.TEXT: render_text,
    PlanForm.MERMAID: render_mermaid,
    PlanForm.JSON: execution_plan_json,
}
"""Format to the function that writes it."""


class NoJobError(PenstockError):
    """A program that was to be planned did not execute a job."""

    code = "CLI_NO_JOB"

    @classmethod
    def of(cls, script: Path, what: str) -> NoJobError:
        """Return the error about a program of which there is nothing to show."""
        return cls(
            f"{script} ended without executing a job, so there is {what}",
            hint="Call execute() on its StreamExecutionEnvironment; arguments the program needs "
            "follow `--`.",
        )


def plan(  # noqa: PLR0913 - the options of a command line
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the logical graph as JSON, as Flink does.")
    ] = False,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            metavar="FILE",
            callback=writable_file,
            show_default=False,
            help="Write the graph as a self-contained SVG file, without other output.",
        ),
    ] = None,
    estimated: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Print the expected time and memory instead, for --records and --keys.",
        ),
    ] = False,
    records: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="N",
            show_default="1e6",
            help="Records of all sources, for --estimate, such as 1e9.",
        ),
    ] = 1e6,
    keys: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="N",
            show_default="1e3",
            help="Different keys of each keyed operator, for --estimate.",
        ),
    ] = 1e3,
    stored: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            exists=True,
            show_default=False,
            help="Print instead what the program keeps of the state in DIR, a savepoint or the checkpoint directory of a job, and "
            "what it reads again. The exit status is 1 if it cannot. Example: penstock plan job.py --from /data/checkpoints/visits",
        ),
    ] = None,
    start_empty: StartEmpty = None,
    history: HistoryTables = None,
    verbose: Verbose = False,
) -> None:
    """Print the plan of a program's first job, without starting Spark.

    The program runs up to its first execute(); what it prints goes to stderr, so that stdout is
    the plan alone. Operators that keep state and have no uid are listed on stderr, and so are those whose
    functions have changed since the state was made with which the job would start.
    """
    if mermaid + json + (svg is not None) + estimated + (stored is not None) > 1:
        raise typer.BadParameter(
            "choose one of --mermaid, --json, --svg, --estimate and --from",
            param_hint="the form of the plan",
        )
    form = PlanForm.MERMAID if mermaid else PlanForm.JSON if json else PlanForm.TEXT
    given = settings(definitions, verbose=verbose) | history_settings(start_empty, history)
    set_process_overrides("cli", given | {TARGET.key: "plan"})

    console = Console(stderr=True)

    def action() -> int:
        ready = planned_by(script, arguments)
        planned = ready.plan
        if stored is not None:
            text, is_possible = evolution_text(ready, stored.absolute(), int(keys))
            typer.echo(text)
            return 0 if is_possible else 1
        if estimated:
            typer.echo(render_estimate(estimate(planned, int(records), int(keys))), nl=False)
            return 0
        if svg is None:
            typer.echo(RENDERERS[form](planned).rstrip("\n"))
        else:
            write_text("--svg", svg, plan_svg(planned))
        unnamed = describe_unnamed_state(planned)
        if unnamed is not None and planned.mode is not RuntimeExecutionMode.BATCH:
            console.print(Text(unnamed, style="yellow"), soft_wrap=True)
        _print_changes(ready, console)
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))


def _print_changes(ready: PlanReady, console: Console) -> None:
    known = recorded_functions(ready.configuration)
    if known is not None:
        for op in changed_functions(ready.plan, known.digests):
            text = changed_function(op.name, op.uid, known.place)
            console.print(Text(text, style="yellow"), soft_wrap=True)


def plan_of(script: Path, arguments: list[str] | None) -> PhysicalPlan:
    """Return the plan of a program; see `planned_by`."""
    return planned_by(script, arguments).plan


def planned_by(script: Path, arguments: list[str] | None) -> PlanReady:
    """Run a program up to its first execute(), and return its plan; the target has to be `plan`."""
    try:
        with redirect_stdout(sys.stderr):
            run_script(script, arguments)
    except PlanReady as ready:
        return ready
    except SystemExit as ended:
        if ended.code:
            raise
    raise NoJobError.of(script, "no plan")
