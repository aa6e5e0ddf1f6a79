"""The history of sources up to stored positions: what a changed program reads again, and what cannot be read again.

    files          the files that were read, with size and time, which are compared when they are read
    splits, logs   from the position at which the job began up to the stored one; a log may have dropped its beginning
    DataFrames     all rows of one that was read to its end

A new source is read as in a new job, up to the end of its last bounded part. The input that a part of a program has
read already is left out (`rest_of`). The user may choose that nothing is read of a source, or a table in the place of its
history (`history_choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from penstock.errors import SourceError
from penstock.graph.backlog_end import as_split_part
from penstock.graph.hybrid import snapshot_part_of
from penstock.graph.log_source import LogSource
from penstock.graph.source import Source
from penstock.graph.source_switch import SourceSwitch
from penstock.plan.compat.function_digest import source_uids
from penstock.plan.phases.backlog import timed_sources
from penstock.plan.physical import HandOver, HistoryChoices, PhysicalPlan, SourcePlan
from penstock.spark.driver.restored import Restored
from penstock.spark.job.run_outline import SWITCHES
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Names, Splits
from penstock.spark.sources.source_row import SourceKind
from penstock.spark.sources.split_reads import NAMES
from penstock.spark.sources.table import row_of
from penstock.state.savepoint import SourceRecord

NO_CHOICES = HistoryChoices()
"""Every history is read from its source."""


@dataclass(frozen=True, slots=True)
class PartHistory:
    """The input of one part of a source that is read again; without attributes all of it.

    Attributes:
        names: Ids of the splits; None if they are known by their numbers.
        open_splits: Numbers of the splits that the job goes on with.
    """

    splits: Splits | None = None
    names: Names | None = None
    files: PinnedFiles | None = None
    open_splits: tuple[int, ...] = ()

    def with_columns(self, schema: str) -> PartHistory:
        """Return files with the columns of another part, if they have none of their own."""
        if self.files is None or self.files.schema:
            return self
        return replace(self, files=replace(self.files, schema=schema))

    @property
    def positions(self) -> int | None:
        """The number of positions; None if it is not read by positions."""
        if self.splits is None:
            return None
        return sum(end - start for start, end in self.splits if end is not None)


@dataclass(frozen=True, slots=True)
class History:
    """The history of the sources of a program.

    Attributes:
        parts: Uid of a source to its parts that are read, by index.
        switches: (uid, part) to the switch at which the source of the part is made.
        refused: Uid of a source to why its history cannot be read again.
        choosable: Those of them of which the user may choose to read nothing, or a table.
    """

    parts: dict[str, dict[int, PartHistory]] = field(default_factory=dict)
    switches: dict[tuple[str, int], SourceSwitch] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    choosable: set[str] = field(default_factory=set)

    @property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """Uid of a source to the indexes of its parts that are read."""
        return {uid: tuple(parts) for uid, parts in self.parts.items()}

    @property
    def open_splits(self) -> dict[str, tuple[int, ...]]:
        """Uid of a source to the splits of its last part that the job goes on with."""
        return {uid: parts[max(parts)].open_splits for uid, parts in self.parts.items() if parts}

    def restored(self, plan: PhysicalPlan, place: str) -> Restored:
        """Return this as the input of a job whose runs read it."""
        ids = {uid: source for source, uid in source_uids(plan).items()}
        known = [
            ((ids[uid], number), part)
            for uid, parts in self.parts.items()
            if uid in ids
            for number, part in parts.items()
        ]
        return Restored(
            savepoint=place,
            goes_on=tuple(run.index for run in plan.runs),
            handed=HandOver(),
            splits={key: part.splits for key, part in known if part.splits is not None},
            names={key: part.names for key, part in known if part.names is not None},
            left={key: part.files for key, part in known if part.files is not None},
            switches={
                (ids[uid], part): switch
                for (uid, part), switch in self.switches.items()
                if uid in ids
            },
        )


def history_of(
    plan: PhysicalPlan,
    records: Iterable[SourceRecord],
    sources: Iterable[str],
    choices: HistoryChoices = NO_CHOICES,
) -> History:
    """Return the history of some sources of a program, given stored positions."""
    known = {record.uid: record for record in records}
    chosen = {*sources}
    history = History()
    for source, uid in source_uids(plan).items():
        described, record = plan.source(source), known.get(uid)
        kinds = tuple(part.kind for part in described.parts)
        if record is not None and record.kinds != kinds:
            history.refused[uid] = (
                f"it was {', then '.join(record.kinds)}, and is {', then '.join(kinds)}"
            )
            continue
        if uid not in chosen:
            continue
        try:
            if record is None:
                history.parts[uid] = _of_new(described, choices.of(uid))
            elif choices.of(uid) is not None:
                # A table is the only part.
                history.parts[uid] = {0: PartHistory()} if uid in choices.tables else {}
            else:
                history.parts[uid] = _checked(plan, source, _of_stored(described, record))
                history.switches.update(_switches(uid, record))
        except CannotReadAgain as refusal:
            history.refused[uid] = str(refusal)
            history.choosable.update(() if record is None else (uid,))
    return history


def rest_of(
    plan: PhysicalPlan,
    records: Iterable[SourceRecord],
    read: Iterable[SourceRecord],
    empty: Collection[str] = (),
) -> History:
    """Return the input from the positions of a part of a program up to later ones; none of the sources of `empty`."""
    known = {record.uid: record for record in records}
    before = {record.uid: record for record in read}
    history = History()
    for source, uid in source_uids(plan).items():
        if uid not in known or uid in empty:
            continue
        try:
            rest = _behind(plan.source(source), before.get(uid), known[uid])
            history.parts[uid] = _checked(plan, source, rest)
            history.switches.update(_switches(uid, known[uid]))
        except CannotReadAgain as refusal:
            history.refused[uid] = str(refusal)
    return history


def _behind(
    source: SourcePlan, before: SourceRecord | None, record: SourceRecord
) -> dict[int, PartHistory]:
    """Return the input of a source between two positions, by part."""
    if before is None:
        raise CannotReadAgain("the part of the program has no position of it")
    if before.kinds != record.kinds:
        raise CannotReadAgain(
            f"it was {', then '.join(before.kinds)}, and is {', then '.join(record.kinds)}"
        )
    reached = -1 if before.part is None else before.part
    if record.part is not None and reached > record.part:
        raise CannotReadAgain("the part of the program has read further")
    if reached == record.part and "splits" in record.position:
        # Where the job began does not matter behind where the part stands, and may be unknown.
        record = replace(record, began={**record.began, str(reached): record.position})
    parts = _of_stored(source, record, first=reached)
    if reached in parts:
        rest = _left_of(parts[reached], before)
        parts = {number: part for number, part in parts.items() if number != reached}
        parts |= {} if rest is None else {reached: rest}
    return dict(sorted(parts.items()))


def _left_of(whole: PartHistory, before: SourceRecord) -> PartHistory | None:
    """Return what is left of a part in which a source was; None if nothing can be left."""
    number = str(before.part)
    if whole.files is not None:
        known = before.read.get(number)
        read = {} if known is None else PinnedFiles.from_json(known).files
        files = {uri: facts for uri, facts in whole.files.files.items() if uri not in read}
        return replace(whole, files=replace(whole.files, files=files))
    if whole.splits is None:
        if before.position.get("rows_read"):
            return None
        return whole
    positions = [start for start, _ in before.position["splits"]]
    begins = dict(zip(before.position.get(NAMES) or range(len(positions)), positions, strict=True))
    names = whole.names or range(len(whole.splits))
    splits: Splits = []
    for name, (_, end) in zip(names, whole.splits, strict=True):
        if name not in begins:
            raise CannotReadAgain(f"split {name} was added, and the part has no position of it")
        if end is not None and begins[name] > end:
            raise CannotReadAgain(f"split {name} was read up to {begins[name]}, behind {end}")
        splits.append((begins[name], end))
    return replace(whole, splits=splits)


def _checked(
    plan: PhysicalPlan, source: int, parts: dict[int, PartHistory]
) -> dict[int, PartHistory]:
    """Return the input of a source, if all of it is there."""
    for number, part in parts.items():
        _check_log(plan.source(source).parts[number], part)
    _check_watermarks(plan, source, parts.values())
    return parts


def _check_watermarks(plan: PhysicalPlan, source: int, parts: Iterable[PartHistory]) -> None:
    """Refuse splits of which some have ended and others go on, if their watermarks count.

    The batch run waits for those that go on, and takes all that have ended for earlier input.
    """
    counts = [(len(part.open_splits), len(part.splits or ())) for part in parts]
    mixed = [(of - left, of) for left, of in counts if 0 < left < of]
    if source in timed_sources(plan) and mixed:
        ended, of = mixed[0]
        raise CannotReadAgain(f"{ended} of its {of} splits have ended, and it has watermarks")


class CannotReadAgain(Exception):  # noqa: N818 - its catcher makes a refusal of it
    """The history of a source is not there."""


def _of_new(source: SourcePlan, choice: str | None) -> dict[int, PartHistory]:
    if choice is not None:
        raise CannotReadAgain(f"it is new, so it begins at its beginning and not with {choice}")
    parts = [number for number, part in enumerate(source.parts) if part.is_bounded]
    if snapshot_part_of(source.parts) is not None:
        raise CannotReadAgain("it begins with a snapshot of another system, which a start takes")
    live = row_of(source.parts[-1]).kind
    if parts and live is SourceKind.FOREIGN:
        raise CannotReadAgain("behind its history it is a stream of your own")
    return {number: PartHistory() for number in parts}


def _of_stored(source: SourcePlan, record: SourceRecord, first: int = 0) -> dict[int, PartHistory]:
    if record.part is None:
        raise CannotReadAgain("the job waited for other input before it read this source")
    parts = {
        number: _of_part(source.parts[number], record, number)
        for number in range(max(first, 0), record.part + 1)
        if not _has_not_begun(record, number)
    }
    schema = next(filter(None, (str(files["schema"]) for files in record.read.values())), "")
    return {number: part.with_columns(schema) for number, part in parts.items()}


def _has_not_begun(record: SourceRecord, number: int) -> bool:
    """Return whether no row of a batch DataFrame was read."""
    return number == record.part and record.position.get("rows_read") is False


def _of_part(part: Source, record: SourceRecord, number: int) -> PartHistory:
    if part.gives_results:
        raise CannotReadAgain("it has the results of a bounded region")
    if snapshot_part_of([part]) is not None:
        raise CannotReadAgain("it began with a snapshot of another system")
    return _AGAIN[row_of(part).kind](part, record, number)


def _files(part: Source, record: SourceRecord, number: int) -> PartHistory:
    del part
    read = record.read.get(str(number))
    return PartHistory(files=PinnedFiles({}, "") if read is None else PinnedFiles.from_json(read))


def _splits(part: Source, record: SourceRecord, number: int) -> PartHistory:
    del part
    splits, names = _ranges(record, number)
    return PartHistory(splits, names, open_splits=_open_splits(record, number))


def _check_log(part: Source, history: PartHistory) -> None:
    """Refuse records that a log has dropped."""
    if row_of(part).kind is not SourceKind.LOGS:
        return
    assert history.names is not None, "a log names its splits"
    wrapped = as_split_part(part)
    log = cast("LogSource", part if wrapped is None else wrapped.source)
    for name, (start, end) in zip(history.names, history.splits or (), strict=True):
        if start != end:
            try:
                log.exact_discover({name: start})
            except SourceError as lost:
                raise CannotReadAgain(lost.problem) from lost


def _open_splits(record: SourceRecord, number: int) -> tuple[int, ...]:
    """Return the splits of a part that the job goes on with."""
    if number != record.part:
        return ()
    splits = enumerate(record.position["splits"])
    return tuple(split for split, (position, end) in splits if end is None or position < end)


def _ranges(record: SourceRecord, number: int) -> tuple[Splits, Names | None]:
    """Return the positions of a part that were read."""
    began = record.began.get(str(number))
    if began is None:
        raise CannotReadAgain("the savepoint has no record of where the job began to read it")
    names = began.get(NAMES)
    ranges = [(start, end) for start, end in began["splits"]]
    if number != record.part:
        if any(end is None for _, end in ranges):
            raise CannotReadAgain("the savepoint has no record of where the job left its beginning")
        return ranges, None if names is None else tuple(names)
    now = record.position["splits"]
    later = record.position.get(NAMES)
    if len(now) > len(ranges):
        added = "" if later is None else f", {', '.join(map(repr, later[len(ranges) :]))}"
        raise CannotReadAgain(
            f"splits were added{added}, and the savepoint has no record of where they began"
        )
    read: Splits = [
        (start, position) for (start, _), (position, _) in zip(ranges, now, strict=True)
    ]
    return read, None if later is None else tuple(later)


def _frame(part: Source, record: SourceRecord, number: int) -> PartHistory:
    del part
    if number == record.part and record.position["rows_left"]:
        raise CannotReadAgain("it is a DataFrame of which some rows were read")
    return PartHistory()


def _foreign(part: Source, record: SourceRecord, number: int) -> PartHistory:
    del part, record, number
    raise CannotReadAgain("it is a stream of your own, and only your program can begin it again")


_AGAIN: Mapping[SourceKind, Callable[[Source, SourceRecord, int], PartHistory]] = {
    SourceKind.SPLITS: _splits,
    SourceKind.LOGS: _splits,
    SourceKind.FILES: _files,
    SourceKind.BOUNDED_FILES: _files,
    SourceKind.WRITTEN_FRAME: _frame,
    SourceKind.FOREIGN: _foreign,
}
"""Kind of a part to the function that returns what was read of it."""


def _switches(uid: str, record: SourceRecord) -> Mapping[tuple[str, int], SourceSwitch]:
    switches: Mapping[str, Any] = record.position.get(SWITCHES, {})
    return {(uid, int(part)): SourceSwitch.from_json(switch) for part, switch in switches.items()}
