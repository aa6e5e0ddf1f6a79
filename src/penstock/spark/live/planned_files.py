"""Checks that a micro-batch reads the files that Spark planned for it, each of them once.

Spark records the files of a micro-batch, and lists them again when it runs. In between

| a file | Spark | Penstock |
|---|---|---|
| disappears | omits it | an error that names it |
| gets another size or time | reads the new content | an error, see below |
| has a glob character in its name | reads all files of the micro-batch again (SPARK-58518) | a tree |

**A tree**: if Spark lists directories recursively, it reads each planned file once. A condition then
removes files that are deeper than the source's path. The query is restarted with a tree only when such
a file appears, before any record of the micro-batch is processed.

**Changes.** A file must not change between planning and the end of the micro-batch. If another driver
repeats the micro-batch, a file that was restored from a copy may have another time; its size must be
that of the first attempt (`run-N.reading.json`), if there was one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import SourceError
from penstock.filesystem.stored_path import mounted
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.run_outline import RunOutline, SourceOutline
from penstock.spark.sources.file_paths import depth_of, depths_of, facts_of, plain
from penstock.spark.sources.listing.file_statuses import file_relations, statuses
from penstock.spark.sources.read_context import SOURCE_OPTION, Pinned
from penstock.spark.sources.source_row import FileStream
from penstock.spark.sources.stream_positions import (
    files_planned,
    last_batches,
    log_offset,
    stream_offsets,
)
from penstock.spark.sources.table import files_of, row_named

Facts = tuple[int, int]
"""Size, and modification time in milliseconds."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """The planned files of one source in a micro-batch.

    Attributes:
        source: The source.
        files: Plain name to URI and time, without files that a condition removes.
        until: Offset of the stream at the end of the micro-batch.
    """

    source: SourceOutline
    files: dict[str, tuple[str, int]]
    until: int


class PlannedFiles:
    """Checks the files of each micro-batch of one live run.

    Attributes:
        as_trees: Sources whose files must be listed as a tree.
        is_due: Whether to restart the query, because there are more such sources now.
    """

    def __init__(self, job: JobContext, run: int, outline: RunOutline, pinned: Pinned) -> None:
        """Begin before the first query.

        Args:
            job: The job.
            run: Index of the run.
            outline: Outline of the run.
            pinned: Input of the run.
        """
        self._job = job
        self._checkpoint = mounted(job.directory.path / f"run-{run}" / "spark")
        self._step = f"run-{run}.reading"
        self._sources = [each for each in outline.sources if _files_of(each) is not None]
        self._pinned = pinned
        self._begun, _ = last_batches(self._checkpoint)
        self._reads: dict[str, Facts] = {}
        self._told_apart: dict[int, frozenset[str]] = {}
        self.as_trees: frozenset[int] = frozenset()
        self.is_due = False

    def begin(self) -> frozenset[int]:
        """Return the sources whose files the next query lists as a tree."""
        self.is_due = False
        return self.as_trees

    def check(self, query: StreamingQuery, batch: int) -> dict[int, set[str]]:
        """Compare the files that a micro-batch will read with the planned ones; it may set `is_due`.

        Args:
            query: The query of the micro-batch.
            batch: Number of the micro-batch.

        Returns:
            Source id to the files that it reads, in the form of `_metadata.file_path`.

        Raises:
            SourceError: A file is missing or has changed; the error names it.
        """
        self._reads = {}
        planned = [each for each in self._planned(batch) if each.files]
        if not planned:
            return {}
        found = _found(query)
        begun_before = self._begun is not None and batch <= self._begun
        sizes = self._sizes(batch) if begun_before else None
        doubled = set()
        for each in planned:
            counts = Counter(name for name, _ in found.get(each.source.id, ()))
            facts = dict(found.get(each.source.id, ()))
            for name, (uri, time_ms) in each.files.items():
                if name not in facts:
                    raise self._gone(each, uri, batch)
                self._compare(each, uri, (time_ms, facts[name], sizes), batch)
                self._reads[uri] = facts[name]
                if counts[name] > 1:
                    doubled.add(each.source.id)
        if doubled - self.as_trees:
            self.as_trees |= doubled
            self.is_due = True
        elif doubled:
            raise AssertionError(f"files of the sources {doubled} are read twice")
        else:
            files = {uri: list(facts) for uri, facts in self._reads.items()}
            self._job.directory.record(self._step, {"batch": batch, "files": files})
        return {each.source.id: {uri for uri, _ in each.files.values()} for each in planned}

    def check_again(self, batch: int) -> None:
        """Refuse a micro-batch whose files changed while it ran.

        A file that has disappeared since was read before.

        Raises:
            SourceError: A file has changed; the error names it.
        """
        for uri, before in self._reads.items():
            try:
                after = facts_of(self._job.session, uri)
            except OSError:
                continue
            if after != before:
                raise changed_file(uri, f"while micro-batch {batch} was computed", before, after)

    def _planned(self, batch: int) -> Iterator[_Planned]:
        if not self._sources:
            return
        before = stream_offsets(self._checkpoint, batch - 1) if batch else None
        now = stream_offsets(self._checkpoint, batch)
        for source in self._sources:
            stream = source.first_stream
            since = -1 if before is None else log_offset(before[stream])
            until = log_offset(now[stream])
            found = (
                files_planned(self._checkpoint, source.log, since, until) if until > since else {}
            )
            wanted = {plain(uri): (uri, time_ms) for uri, time_ms in found.items()}
            yield _Planned(source, self._without_left_out(source, wanted), until)

    def _without_left_out(
        self, source: SourceOutline, files: dict[str, tuple[str, int]]
    ) -> dict[str, tuple[str, int]]:
        """Return the files that no condition removes; see `file_reads`."""
        stream = _files_of(source)
        if stream is None or not stream.is_of_path:
            return files
        assert source.part is not None, "it has a stream"
        if source.id in self.as_trees:
            files = self._without_deeper(source, files)
        if source.id not in self._told_apart:
            pinned = [self._pinned.files[source.id, source.part]] if stream.only_pinned else []
            known = [each for (owner, _), each in self._job.earlier.items() if owner == source.id]
            names = (plain(uri) for each in pinned or known for uri in each.files)
            self._told_apart[source.id] = frozenset(names)
        told_apart = self._told_apart[source.id]
        return {
            name: each for name, each in files.items() if (name in told_apart) is stream.only_pinned
        }

    def _without_deeper(
        self, source: SourceOutline, files: dict[str, tuple[str, int]]
    ) -> dict[str, tuple[str, int]]:
        assert source.part is not None, "it has a stream"
        part = files_of(self._job.plan.source(source.id).parts[source.part])
        assert part is not None, "the kind of its stream says so"
        depths = depths_of(part.path)
        if len(depths) > 1:
            raise SourceError(
                f"{part.describe()} have names with glob characters, and braces whose alternatives "
                f"are {' or '.join(map(str, sorted(depths)))} names deep",
                hint="Make a source of each alternative and union them.",
                origin=self._job.plan.source(source.id).origin,
            )
        deepest = max(depths) + 1
        for name in files:
            if depth_of(name) > deepest and "=" in name.split("/")[-2]:
                raise SourceError(
                    f"{name} is in a directory of partitions, and other files of "
                    f"{part.describe()} are in none",
                    hint="Keep them in separate directories, with a source each.",
                    origin=self._job.plan.source(source.id).origin,
                )
        return {name: each for name, each in files.items() if depth_of(name) <= deepest}

    def _compare(
        self, planned: _Planned, uri: str, known: tuple[int, Facts, dict[str, int] | None], n: int
    ) -> None:
        """Refuse a file that differs from the planned one; see the module."""
        time_ms, (size, now_ms), sizes = known
        if sizes is None:
            if now_ms != time_ms:
                what = f"after micro-batch {n} of {planned.source.name!r} was planned with it"
                raise changed_file(uri, what, (size, time_ms), (size, now_ms))
        elif sizes.get(uri, size) != size:
            what = f"since micro-batch {n} of {planned.source.name!r} was begun"
            raise changed_file(uri, what, (sizes[uri], time_ms), (size, now_ms))

    def _sizes(self, batch: int) -> dict[str, int]:
        recorded = self._job.directory.step(self._step)
        if recorded is None or recorded["batch"] != batch:
            return {}
        return {uri: size for uri, (size, _) in recorded["files"].items()}

    def _gone(self, planned: _Planned, uri: str, batch: int) -> SourceError:
        source = self._job.plan.source(planned.source.id)
        return SourceError(
            f"{plain(uri)} is gone: micro-batch {batch} of {source.name!r} was planned with it, and "
            "it was not read",
            hint="Bring the file back and start the same command again.",
            origin=source.origin,
        )


def _files_of(source: SourceOutline) -> FileStream | None:
    """Return the file stream of a source, None if its row has none."""
    return None if source.kind is None else row_named(source.kind).files


def _found(query: StreamingQuery) -> dict[int, list[tuple[str, Facts]]]:
    """Return source id to the files that Spark will read, repeated ones too."""
    jvm_query: Any = query._jsq  # noqa: SLF001 - what foreachBatch gets no longer knows its files
    found: dict[int, list[tuple[str, Facts]]] = {}
    for relation in file_relations(jvm_query.streamingQuery().lastExecution().analyzed()):
        source = relation.options().get(SOURCE_OPTION)
        if source.isDefined():
            files = found.setdefault(int(source.get()), [])
            files += statuses(relation.location().allFiles())
    return found


def changed_file(uri: str, when: str, before: Facts, after: Facts) -> SourceError:
    """Return the error about a file that is not what was planned.

    Args:
        uri: The file.
        when: When it changed, in words.
        before: What was planned.
        after: What it is.
    """
    sizes = f"it had {before[0]} bytes, it has {after[0]}"
    if before[0] == after[0]:
        sizes = f"it has {after[0]} bytes and another modification time"
    return SourceError(
        f"{plain(uri)} changed {when}: {sizes}",
        hint="A file must appear complete (write it elsewhere, then rename it) and must not change "
        "afterwards. Restore it, or wait until it is complete, and start the same command again.",
    )
