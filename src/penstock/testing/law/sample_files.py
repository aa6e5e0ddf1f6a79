"""Samples of a program's sources as files that `penstock check --input` takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.errors import ArgumentError, PenstockError, SourceError, did_you_mean
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SOURCE
from penstock.testing.law.masks import Mask
from penstock.testing.law.own_samples import first_records
from penstock.testing.law.record_texts import RecordTexts
from penstock.testing.law.samples import Sample
from penstock.wire.text import TextError


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The sample of one source.

    Attributes:
        name: Its name.
        path: The file, or the directory with a file for each split; None if it has no sample.
        records: Number of records.
        problem: The reason why it has no sample; None if it has one.
    """

    name: str
    path: Path | None = None
    records: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """The samples of a program.

    Attributes:
        sources: One for each source.
        masked: Names of the masked columns.
    """

    sources: tuple[SourceFiles, ...]
    masked: tuple[str, ...]


def write_samples(
    graph: LogicalGraph, directory: Path, records: int, masked: Iterable[str]
) -> SampleFiles:
    """Write the first records of every source that can be read."""
    columns = tuple(masked)
    if directory.exists() and any(directory.iterdir()):
        raise ArgumentError(
            f"{directory} is not empty", hint="Name a directory that is empty or not there."
        )
    mask, texts, found = Mask(columns), {}, []
    for node in graph.of_kind(SOURCE):
        try:
            texts[node.name] = _lines(graph, node, records, mask)
        except ArgumentError:
            raise
        except PenstockError as error:
            found.append(SourceFiles(node.name, problem=error.problem))
    _check_columns(columns, mask)
    if not texts:
        problems = "; ".join(f"{each.name!r}: {each.problem}" for each in found)
        raise SourceError(
            f"no source can be sampled: {problems}",
            hint="Write the files by hand, or declare the types of records: a check generates such.",
        )
    written = [_written(directory, name, splits) for name, splits in texts.items()]
    return SampleFiles((*written, *found), tuple(mask.masked))


def _lines(graph: LogicalGraph, node: Node, records: int, mask: Mask) -> list[list[str]]:
    """Return the lines of each split of a source."""
    if Path(node.name).name != node.name or node.name.startswith("."):
        raise SourceError(
            f"{node.name!r} is no name of a file", hint="Name the source in from_source."
        )
    sample: Sample = first_records(graph, node, records)
    try:
        texts = RecordTexts(node.type_info)
    except ArgumentError as cause:
        raise SourceError(cause.problem, hint=cause.hint, origin=node.origin) from cause
    splits: dict[int, list[str]] = {}
    for element in sample:
        made = replace(element, value=mask.record(element.value, node.type_info))
        try:
            line = texts.write(made)
        except TextError as cause:
            raise SourceError(
                f"a record has no JSON: {cause}",
                hint="Declare the type of the records.",
                origin=node.origin,
            ) from cause
        splits.setdefault(element.split, []).append(line)
    return [splits[number] for number in sorted(splits)] or [[]]


def _check_columns(columns: Iterable[str], mask: Mask) -> None:
    for name in columns:
        if name not in mask.seen:
            known = tuple(mask.seen)
            raise ArgumentError(
                f"no record has the column {name!r}{did_you_mean(name, known)}; there are {list(known)}",
                hint="Name a field of the records, or the number of an element.",
            )


def _written(directory: Path, name: str, splits: list[list[str]]) -> SourceFiles:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / (f"{name}.jsonl" if len(splits) == 1 else name)
    if len(splits) > 1:
        path.mkdir()
    for number, lines in enumerate(splits):
        file = path if len(splits) == 1 else path / f"{number:04}.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return SourceFiles(name, path, sum(map(len, splits)))
