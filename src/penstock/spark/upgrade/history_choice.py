"""The choices of the user about a history that cannot be read again: an empty start, or a table in its place.

    start empty    the source is not read up to the savepoint from which the program starts
    a table        the batch run reads it in the place of the source, up to the position of the first round; from there on
                   the source is read as always

A table has files that the file source reads, of one format, or is a Delta table. Its records have the type of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from penstock.config.options import HISTORY_TABLES, START_EMPTY
from penstock.connectors.delta.delta_source import DeltaSource
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.local_listing import list_local, local_path
from penstock.errors import EvolutionError, PenstockError
from penstock.graph.endpoints import Source
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.compat.evolution import Evolution, PartStatus
from penstock.plan.compat.function_digest import source_labels, source_uids
from penstock.plan.phases.backlog import has_strategy
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import HistoryChoices, PhysicalPlan
from penstock.program.operators import SINK, SOURCE, TIMESTAMPS
from penstock.spark.upgrade.history import History
from penstock.types import RowTypeInfo, Types

_FORMATS: Mapping[str, Callable[[str, RowTypeInfo], Source]] = {
    ".parquet": FileSource.parquet,
    ".csv": FileSource.csv,
    ".json": FileSource.json,
}
"""End of the names of files to the source of rows."""

_LINES = frozenset({".txt", ".text", ".log"})
"""Ends of the names of files of lines."""


def choices_of(plan: PhysicalPlan) -> HistoryChoices:
    """Return the choices that the program or the command line has made, with the uids of the plan."""
    chosen = plan.options.history_choices
    names = _uids_by_name(plan)
    empty = tuple(_uid(names, name) for name in chosen.empty)
    tables = {_uid(names, name): path for name, path in chosen.tables.items()}
    both = sorted({*empty} & tables.keys())
    if both:
        raise EvolutionError(
            f"source {both[0]} is to start empty, and to have the history of {tables[both[0]]}",
            hint=f"Leave it out of {START_EMPTY.key} or of {HISTORY_TABLES.key}.",
        )
    return HistoryChoices(empty, tables)


def _uids_by_name(plan: PhysicalPlan) -> dict[str, str]:
    """Return the names by which a user may mean a source."""
    labels = source_labels(plan)
    return {label: uid for uid, label in labels.items()} | {uid: uid for uid in labels}


def _uid(names: Mapping[str, str], name: str) -> str:
    if name not in names:
        raise EvolutionError(
            f"the program has no source {name!r}, whose history is chosen",
            hint=f"Its sources are {', '.join(sorted(names))}.",
        )
    return names[name]


def with_tables(graph: LogicalGraph, plan: PhysicalPlan, choices: HistoryChoices) -> LogicalGraph:
    """Return a graph whose sources are tables in the place of a history."""
    sources = {uid: source for source, uid in source_uids(plan).items()}
    tables = {
        node.id: replace(node, source=table_of(plan, sources[uid], path))
        for node in graph.of_kind(SOURCE)
        for uid, path in choices.tables.items()
        if node.uid == uid
    }
    return LogicalGraph(tuple(tables.get(node.id, node) for node in graph.nodes))


def table_of(plan: PhysicalPlan, source: int, path: str) -> Source:
    """Return the source that reads a table in the place of the history of another one."""
    node = plan.graph.node(source)
    read = node.source
    assert read is not None, "it is a source"
    try:
        table = _table(path, read)
    except PenstockError as refused:
        raise _unfit(node, path, refused.problem, refused.hint) from refused
    types = read.get_produced_type(), table.get_produced_type()
    if str(types[0]) != str(types[1]):
        problem = f"it has records of {types[1]}, and the source of {types[0]}"
        raise _unfit(node, path, problem, "Write the table with the fields of the source.")
    if _reads_given_times(plan, source):
        raise _unfit(
            node,
            path,
            "the program reads the times that the source gives to its records, and a table gives none",
            "Let the watermark strategy of the source assign timestamps from a field.",
        )
    return table


def _reads_given_times(plan: PhysicalPlan, source: int) -> bool:
    """Return whether watermarks are made of the times that a source gives to its records."""
    gives = any(part.gives_timestamps for part in plan.source(source).parts)
    return gives and any(
        has_strategy(node) and node.watermarking is not None and node.watermarking.assigner is None
        for node in plan.graph.of_kind(TIMESTAMPS)
        if source in sources_of(plan.graph, node)
    )


def _table(path: str, read: Source) -> Source:
    kind = read.get_produced_type()
    here = local_path(path)
    if here is not None and (here / "_delta_log").is_dir():
        table = DeltaSource.table(here).bounded()
        return table.columns(*kind.field_names) if isinstance(kind, RowTypeInfo) else table
    (end, *others) = _ends(path) or ("",)
    if not others and end in _LINES and kind == Types.STRING():
        return FileSource.text(path)
    if not others and end in _FORMATS and isinstance(kind, RowTypeInfo):
        return _FORMATS[end](path, kind)
    endings = ", ".join(repr(ending) for ending in (end, *others) if ending) or "nothing"
    raise EvolutionError(
        f"the names of its files end with {endings}, and the records are of {kind}",
        hint=f"Rows are read from {', '.join(_FORMATS)} or a Delta table, lines from {', '.join(sorted(_LINES))}; the source has to "
        "declare its type.",
    )


def _ends(path: str) -> list[str]:
    """Return the ends of the names of files; of those in a store, what the path itself ends with."""
    here = local_path(path)
    if here is None or not here.exists():
        return [Path(path).suffix]
    return sorted({Path(name).suffix for _, name, _ in list_local([str(here)], recursively=True)})


def _unfit(node: Node, path: str, problem: str, hint: str) -> EvolutionError:
    return EvolutionError(
        f"the table {path} cannot be read in the place of the history of source {node.uid or node.name}: {problem}",
        hint=hint,
        origin=node.origin,
    )


def lacking(plan: PhysicalPlan, evolution: Evolution, uid: str) -> list[str]:
    """Return the new and changed operators with state, and the new sinks, that begin without the history of a source."""
    (source,) = (key for key, of in source_uids(plan).items() if of == uid)
    behind = {
        op.uid
        for level in plan.levels
        for op in level.operators
        if source in sources_of(plan.graph, plan.graph.node(op.id))
    }
    changed = {PartStatus.NEW, PartStatus.CHANGED}
    operators = [
        operator.described
        for operator in evolution.operators
        if operator.change in changed and operator.has_state and operator.uid in behind
    ]
    sinks = zip(evolution.sinks, plan.graph.of_kind(SINK), strict=False)  # dropped ones are last
    return operators + [
        f"sink {sink.described}"
        for sink, node in sinks
        if sink.change is PartStatus.NEW and source in sources_of(plan.graph, node)
    ]


def offers(plan: PhysicalPlan, history: History) -> Iterator[str]:
    """Yield lines with the choices that the user has about the sources whose history cannot be read again."""
    labels = source_labels(plan)
    if history.choosable:
        yield "choose for each of these sources:"
    for label in sorted(labels[uid] for uid in history.choosable):
        yield f"  {_COMMAND} --start-empty {label}"
        yield f"    what is not kept begins without it; also {START_EMPTY.key}={label}"
        yield f"  {_COMMAND} --history {label}=TABLE"
        yield f"    reads files or a Delta table in its place; also {HISTORY_TABLES.key}={label}=TABLE"


_COMMAND = "penstock upgrade OLD_DIR NEW_DIR JOB.PY"
