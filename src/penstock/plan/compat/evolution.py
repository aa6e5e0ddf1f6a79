"""The comparison of a program with the one that made some state: for each operator, kept, new, changed or dropped.

An operator is kept if its uid, its kind and its functions are the same, and if everything that it reads is
kept. State of a kept operator is what the program would have made of the same input; state of the others is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.plan.compat.function_digest import (
    are_comparable,
    function_digests,
    source_labels,
    source_uids,
)
from penstock.plan.phases.edges import Edge, physical_inputs
from penstock.plan.physical import PhysicalPlan
from penstock.program.level import OperatorSpec
from penstock.program.operators import SINK
from penstock.state.savepoint import OperatorRecord


class PartStatus(Enum):
    """The relation of an operator, a source or a sink to the program that made the state."""

    KEPT = "kept"
    NEW = "new"
    CHANGED = "changed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """The program that made some state.

    Attributes:
        place: Where the state is, in words.
        operators: Its operators; of those that were not recorded, kind and digest are empty and inputs are None.
        sources: Uids of the sources.
        with_state: Uids of the operators of which state is stored.
        sinks: Names of the sinks, as `sink_names` has them; None if they were not recorded.
    """

    place: str
    operators: tuple[OperatorRecord, ...]
    sources: frozenset[str]
    with_state: frozenset[str] = frozenset()
    sinks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PartChange:
    """One operator, source or sink.

    Attributes:
        uid: Stable identity.
        name: For people.
        change: Its relation to the stored program.
        reason: Why it is not kept, in a clause; empty if it is.
        has_state: Whether it keeps state; of a dropped one, whether state of it is stored.
        label: The uid for people, if it is another text; see `source_labels`.
    """

    uid: str
    name: str
    change: PartStatus
    reason: str = ""
    has_state: bool = False
    label: str = ""

    @property
    def shown_uid(self) -> str:
        """The uid for people; empty if it is the name."""
        uid = self.label or self.uid
        return "" if uid == self.name else uid

    @property
    def described(self) -> str:
        """The name, and the uid if it is another text."""
        return f"{self.name} (uid {self.shown_uid})" if self.shown_uid else self.name


@dataclass(frozen=True, slots=True)
class Evolution:
    """A program beside the one that made the state.

    Attributes:
        place: Where the state is, in words.
        operators: The operators, upstream first; dropped ones last.
        sources: The sources, in order of id; dropped ones last.
        sinks: The sinks, in order of index; dropped ones last.
    """

    place: str
    operators: tuple[PartChange, ...]
    sources: tuple[PartChange, ...]
    sinks: tuple[PartChange, ...]

    @property
    def kept(self) -> frozenset[str]:
        """Uids of the kept operators."""
        return frozenset(part.uid for part in self.operators if part.change is PartStatus.KEPT)

    @property
    def parts(self) -> Iterator[tuple[str, PartChange]]:
        """All parts, each with the word for its kind."""
        yield from (("source", part) for part in self.sources)
        yield from (("operator", part) for part in self.operators)
        yield from (("sink", part) for part in self.sinks)

    @property
    def of_state(self) -> tuple[PartChange, ...]:
        """The operators that are not kept and have state."""
        return tuple(
            part for part in self.operators if part.change is not PartStatus.KEPT and part.has_state
        )


def described_inputs(plan: PhysicalPlan) -> dict[str, tuple[str, ...]]:
    """Return uid to what each operator reads: number of the input, uid, and tag of a side output."""
    names = _producers(plan)
    return {op.uid: tuple(_inputs(plan, op, names)) for op in _operators(plan)}


def sink_names(plan: PhysicalPlan) -> tuple[str, ...]:
    """Return the identity of each sink: the user's uid, without and with its version; else its kind and what it reads.

    The numbers of sinks do not serve: a sink that is put before others changes theirs. Sinks that differ only in their versions
    are those of statements that write one table.
    """
    names = _producers(plan)
    seen: Counter[str] = Counter()
    identities = []
    for node in plan.graph.of_kind(SINK):
        name = node.uid
        if name is None:
            read = ", ".join(_input(edge, names) for edge in physical_inputs(plan.graph, node))
            kind = "" if node.sink is None else node.sink.kind
            name = f"{_END_OF_UID}{kind} of {read}"
            seen[name] += 1
            name = f"{name} {seen[name]}"
        elif node.version is not None:
            name = f"{name.removesuffix(f'-{node.version}')}{_END_OF_UID}{node.version}"
        identities.append(name)
    return tuple(identities)


_END_OF_UID = "\0"
"""End of the uid in the name of a sink, which may be empty; a uid cannot have it, because file names contain uids."""


def _group(name: str) -> str:
    """Return the uid in the name of a sink, without its version; empty if the sink has none."""
    return name.partition(_END_OF_UID)[0]


def _same_sinks(names: Sequence[str], stored: Sequence[str]) -> dict[str, str]:
    """Return the names of sinks that were there before, each with its stored name.

    If one of a group is new and one is gone, it is the same one, with another version.
    """
    same = {name: name for name in names if name in stored}
    new, gone = (
        Counter(_group(name) for name in some if name not in same) for some in (names, stored)
    )
    changed = {_group(name): name for name in stored if name not in same}
    return same | {
        name: changed[group]
        for name in names
        if (group := _group(name)) and name not in same and new[group] == gone[group] == 1
    }


def compare(plan: PhysicalPlan, stored: StoredProgram) -> Evolution:
    """Return what a program keeps of a stored one."""
    known = {op.uid: op for op in stored.operators}
    sources = tuple(_sources(plan, stored))
    changed = {part.uid: part.change for part in sources if part.change is not PartStatus.KEPT}
    digests, inputs, names = function_digests(plan), described_inputs(plan), _producers(plan)
    operators = []
    for op in _operators(plan):
        read = [names[edge.producer.id] for edge in _edges(plan, op)]
        change, reason = _change(
            op,
            known.get(op.uid),
            digests[op.uid],
            inputs[op.uid],
            [u for u in read if u in changed],
        )
        if change is not PartStatus.KEPT:
            changed[op.uid] = change
        operators.append(PartChange(op.uid, op.name, change, reason, op.may_have_state))
    present = {part.uid for part in operators}
    dropped = tuple(
        PartChange(op.uid, op.name, PartStatus.DROPPED, _GONE, op.uid in stored.with_state)
        for op in stored.operators
        if op.uid not in present
    )
    return Evolution(stored.place, (*operators, *dropped), sources, tuple(_sinks(plan, stored)))


_GONE = "the program no longer has it"


def _change(
    op: OperatorSpec,
    known: OperatorRecord | None,
    digest: str,
    inputs: tuple[str, ...],
    changed_inputs: Sequence[str],
) -> tuple[PartStatus, str]:
    """Return the change of an operator, and why."""
    if known is None:
        return PartStatus.NEW, "no operator with this uid was stored"
    if known.kind and known.kind != op.kind.name:
        was, now = (kind.lower().replace("_", " ") for kind in (known.kind, op.kind.name))
        return PartStatus.CHANGED, f"it was a {was}, and is a {now}"
    if are_comparable(known.digest) and known.digest != digest:
        return PartStatus.CHANGED, "its function differs"
    if known.inputs is not None and known.inputs != inputs:
        before, after = ", ".join(known.inputs), ", ".join(inputs)
        return PartStatus.CHANGED, f"it read {before}, and reads {after}"
    if changed_inputs:
        read = ", ".join(map(repr, changed_inputs))
        return PartStatus.CHANGED, f"it reads {read}, which {_is_or_are(changed_inputs)} not kept"
    return PartStatus.KEPT, ""


def _is_or_are(uids: Sequence[str]) -> str:
    return "is" if len(uids) == 1 else "are"


def _sources(plan: PhysicalPlan, stored: StoredProgram) -> Iterator[PartChange]:
    uids, labels = source_uids(plan), source_labels(plan)
    for source in plan.sources:
        uid = uids[source.id]
        is_kept = uid in stored.sources
        change = PartStatus.KEPT if is_kept else PartStatus.NEW
        reason = "" if is_kept else "no position of it was stored"
        yield PartChange(uid, source.name, change, reason, label=labels[uid])
    for uid in sorted(stored.sources - {*uids.values()}):
        yield PartChange(uid, uid, PartStatus.DROPPED, _GONE)


def _sinks(plan: PhysicalPlan, stored: StoredProgram) -> Iterator[PartChange]:
    names = sink_names(plan)
    same = _same_sinks(names, stored.sinks or ())
    for sink, node, name in zip(plan.sinks, plan.graph.of_kind(SINK), names, strict=True):
        uid = node.uid or sink.uid
        if stored.sinks is None or name in same:
            yield PartChange(uid, sink.name, PartStatus.KEPT)
        else:
            yield PartChange(uid, sink.name, PartStatus.NEW, "no sink with this uid was stored")
    for name in stored.sinks or ():
        if name not in same.values():
            shown = _group(name) or name.removeprefix(_END_OF_UID)
            yield PartChange(shown, shown, PartStatus.DROPPED, _GONE)


def unclear_sinks(plan: PhysicalPlan, stored: StoredProgram) -> tuple[str, ...]:
    """Return the names of sinks that may be new, or may be one that was stored: several of a group differ.

    To write the history to such a sink could write it twice.
    """
    if stored.sinks is None:
        return ()
    names = sink_names(plan)
    same = _same_sinks(names, stored.sinks)
    gone = {_group(name) for name in {*stored.sinks} - {*same.values()}}
    return tuple(
        sink.name
        for sink, name in zip(plan.sinks, names, strict=True)
        if name not in same and _group(name) in gone
    )


def _operators(plan: PhysicalPlan) -> Iterator[OperatorSpec]:
    """Yield the operators in order of id, which is upstream first."""
    operators = (op for level in plan.levels for op in level.operators)
    return iter(sorted(operators, key=lambda op: op.id))


def _edges(plan: PhysicalPlan, op: OperatorSpec) -> list[Edge]:
    return physical_inputs(plan.graph, plan.graph.node(op.id))


def _producers(plan: PhysicalPlan) -> dict[int, str]:
    """Return id to uid, of sources and operators."""
    return source_uids(plan) | {op.id: op.uid for op in _operators(plan)}


def _inputs(plan: PhysicalPlan, op: OperatorSpec, names: Mapping[int, str]) -> list[str]:
    return sorted(_input(edge, names) for edge in _edges(plan, op))


def _input(edge: Edge, names: Mapping[int, str]) -> str:
    number = f"input {edge.target_input} " if edge.target_input else ""
    tag = "" if edge.output_tag is None else f" ({edge.output_tag})"
    return f"{number}{names[edge.producer.id]}{tag}"
