"""The text of `penstock plan --from`: what a program keeps of stored state, and what it reads again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.api.environment.job import PlanReady
from penstock.config.options import IGNORE_SOURCE_POSITIONS
from penstock.filesystem.stored_path import JobPath
from penstock.observe.events.sentences import human_duration
from penstock.plan.compat.evolution import PartChange, PartStatus
from penstock.plan.compat.function_digest import source_labels
from penstock.plan.explain.estimate import estimate
from penstock.spark.upgrade.bootstrap import Bootstrap, read_so_far
from penstock.spark.upgrade.history import PartHistory
from penstock.spark.upgrade.history_choice import offers
from penstock.spark.upgrade.stored_program import manifest_at

_MIB = 1 << 20


def evolution_text(
    ready: PlanReady, stored: JobPath, keys: int, new: JobPath | None = None
) -> tuple[str, bool]:
    """Return the text, and whether the program could start with `execution.evolution` allow.

    A directory in which an earlier attempt has read some history is `new`.
    """
    savepoint = manifest_at(stored)
    read = None if new is None else read_so_far(new)
    bootstrap = Bootstrap.of(ready.plan, savepoint, stored, read)
    ignored = ready.configuration.get(IGNORE_SOURCE_POSITIONS)
    refusals = bootstrap.refusals(savepoint) or bootstrap.mismatches(
        savepoint, ignore_positions=ignored
    )
    lines = [
        *_parts(bootstrap),
        "",
        *_reads(bootstrap, keys, has_refusals=bool(refusals)),
        *(["refused:", *refusals] if refusals else []),
        *offers(ready.plan, bootstrap.history),
    ]
    return "\n".join(lines), not refusals


def _parts(bootstrap: Bootstrap) -> Iterator[str]:
    rows = [
        (part.change.value, word, part.name, part.shown_uid, _why(part))
        for word, part in bootstrap.evolution.parts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _why(part: PartChange) -> str:
    if part.change is PartStatus.DROPPED and part.has_state:
        return f"{part.reason}; its state is kept until `penstock state drop`"
    return part.reason


def _reads(bootstrap: Bootstrap, keys: int, *, has_refusals: bool) -> Iterator[str]:
    if bootstrap.graph is None:
        yield "no history is read"
        yield from _started_empty(bootstrap)
        return
    if bootstrap.is_resumed:
        yield "reads the rest, for what is not kept; an earlier attempt has read the history:"
    else:
        yield "reads again, for what is not kept:"
    yield from history_lines(bootstrap)
    yield from _started_empty(bootstrap)
    parts = [part for of in bootstrap.history.parts.values() for part in of.values()]
    known = [part.positions for part in parts if part.positions is not None]
    is_known = len(known) == len(parts) and known and not bootstrap.is_resumed
    if is_known and not has_refusals:
        seconds = estimate(bootstrap.planned(), sum(known), keys).seconds
        yield f"  about {human_duration(seconds)} with {keys:,} keys, without the time of your functions"
    yield from _sinks(bootstrap)


def history_lines(bootstrap: Bootstrap) -> Iterator[str]:
    """Yield a line for each source whose history is read."""
    labels, choices = source_labels(bootstrap.plan), bootstrap.choices
    for uid, parts in sorted(bootstrap.history.parts.items()):
        if uid in choices.empty:
            continue
        read = ", ".join(map(_read, parts.values())) or "nothing yet"
        if uid in choices.tables and not bootstrap.is_resumed:
            read = f"the table {choices.tables[uid]} in the place of its history"
        yield f"  source {labels[uid]}: {read}"


def _started_empty(bootstrap: Bootstrap) -> Iterator[str]:
    for source, parts in bootstrap.empty_sources():
        yield f"  source {source} starts empty: the results of {', '.join(parts)} lack its history"


def _read(part: PartHistory) -> str:
    if part.positions is not None:
        return f"{part.positions:,} positions of {_count(part.splits or (), 'split')}"
    if part.files is not None:
        size = sum(size for size, _ in part.files.files.values())
        return f"{_count(part.files.files, 'file')} ({size / _MIB:,.1f} MiB)"
    return "all of its bounded input"


def _count(things: Sequence[object] | dict[str, tuple[int, int]], noun: str) -> str:
    return f"{len(things):,} {noun}{'' if len(things) == 1 else 's'}"


def _sinks(bootstrap: Bootstrap) -> Iterator[str]:
    assert bootstrap.graph is not None, "there is something to read"
    reached = {node.uid for node in bootstrap.graph.nodes if node.sink}
    for sink in bootstrap.evolution.sinks:
        if sink.change is PartStatus.NEW and bootstrap.plan.options.new_sinks_from_now:
            yield f"  sink {sink.described} begins now, without results of the history"
        elif sink.change is PartStatus.NEW:
            yield f"  sink {sink.described} gets the results of the history"
        elif sink.uid in reached:
            yield f"  sink {sink.described} keeps the results of the old program; with another uid and target it gets those of the history"
