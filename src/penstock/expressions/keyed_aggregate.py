"""The aggregates of `KeyedStream.aggregate`, as a value: records of parts, their merge, and results.

record ──select──▶ key and parts ──merge──▶ key and parts ──select──▶ key and results
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ArgumentError, ExpressionError
from penstock.expressions.aggregates import (
    VALUES,
    AggregateExpression,
    aggregate_of,
    name_of_key,
    name_of_part,
    part_in_words,
    weighted,
)
from penstock.expressions.kinds import COUNTED, DECIMAL, FLOATS, INSTANT, TypingError, is_bytes
from penstock.expressions.merging import A_SUM, Merge, merge_of
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Call, Expression, Field, Literal, fields_of
from penstock.expressions.typing import RecordType, typed
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, row_like, values_of_row

WINDOW_BOUNDS = ("window_start", "window_end")
"""Names of the bounds of a window; the end is not part of it."""

TALLY = "tally"
"""The merge of maps from a value to how often it came."""

LIST = "list"
"""The merge of calls, which are appended in order."""

_OTHERS_IN_SQL = frozenset({("sum", DECIMAL)})
"""Merges, with names of types, whose result Spark SQL rounds."""


@dataclass(frozen=True, slots=True)
class ChangelogOutput:
    """The changelog of the newest results of keys, which is emitted in place of them.

    Attributes:
        rows: Position of the part that counts the rows of a key, which has no result and no state without rows; None if
            no row is taken back.
        ttl_ms: Time in milliseconds after the last record of a key at which it is forgotten; None is never.
        values: Positions of tallies that are kept value by value, apart from the other parts.
        read: Those of them whose values results read.
        folded: From parts to parts of which calls of functions of the user are made; None if there are none.
        derived: From parts, whose tallies have the values that came (1) and went (-1), to the parts that these change.
    """

    rows: int | None = None
    ttl_ms: int | None = None
    values: tuple[int, ...] = ()
    read: frozenset[int] = frozenset()
    derived: ExpressionChain | None = None
    folded: ExpressionChain | None = None

    @property
    def are_settled(self) -> bool:
        """True if parts have to be settled before they are stored: values kept apart, calls made."""
        return bool(self.values) or self.folded is not None


@dataclass(frozen=True, slots=True)
class KeyedAggregate:
    """Merges two records of parts of one key; picklable.

    Attributes:
        parts: Type of the records of parts: columns of the key, then the parts.
        merges: `sum`, `min`, `max`, `tally` or `list` of each part; None for columns of the key.
        results: From a record of parts to the result; of windows, from parts and perhaps the bounds of the window.
        changes: How results are emitted as changes; None if each is emitted as a row.
    """

    parts: RowTypeInfo
    merges: tuple[str | None, ...]
    results: ExpressionChain
    changes: ChangelogOutput | None = None
    _merges: tuple[Merge | None, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [getattr(kind, "name", "") for kind in self.parts.field_types]
        merges = [
            None if how is None else merge_of(how, name)
            for how, name in zip(self.merges, names, strict=True)
        ]
        object.__setattr__(self, "_merges", tuple(merges))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.parts, self.merges, self.results, self.changes)
        return KeyedAggregate, fields if self.changes else fields[:-1]

    def __call__(self, earlier: Row, later: Row) -> Row:
        """Return the record of parts of both; NULL is no value."""
        both = zip(self._merges, values_of_row(earlier), values_of_row(later), strict=True)
        merged: list[Any] = []
        try:
            for merge, left, right in both:
                if merge is None or right is None:
                    merged.append(left)
                else:
                    merged.append(right if left is None else merge(left, right))
        except ExpressionError as refused:
            named = part_in_words(self.parts.field_names[len(merged)])
            problem = refused.problem.replace(A_SUM, named, 1)
            raise ExpressionError(problem, hint=refused.hint) from None
        return row_like(earlier, merged)

    def reduce(self, earlier: Row, later: Row) -> Row:
        """Return the record of parts of both, as a function of windows does."""
        return self(earlier, later)

    @property
    def keys(self) -> int:
        """Number of columns of the key, which are the first ones."""
        return self.merges.count(None)

    @property
    def has_columns(self) -> bool:
        """True if its parts have a form as columns in which equal keys are equal."""
        kinds = self.parts.field_types[: self.keys]
        return self.keys > 0 and all(
            getattr(kind, "name", "") in COUNTED or is_bytes(kind) for kind in kinds
        )

    @property
    def is_merged_alike_by_sql(self) -> bool:
        """True if Spark SQL adds the same sums, and has the same keys: of columns it has, 0.0 and -0.0 are one for it too."""
        named = zip(self.merges, self.parts.field_types, strict=True)
        merged = {(how, getattr(kind, "name", "")) for how, kind in named}
        # Spark SQL counts values by grouping on them, which it can do once
        is_counted_once = self.merges.count(TALLY) <= 1
        return (
            LIST not in self.merges
            and self.has_columns
            and is_counted_once
            and merged.isdisjoint(_OTHERS_IN_SQL)
        )

    @property
    def exact_because(self) -> str | None:
        """Reason why the results are the same in any grouping and order; completes "because …". None if they may differ.

        Sums of floats and calls of functions of the user depend on the order, and of 0.0 and -0.0 the first is the least.
        """
        if LIST in self.merges:
            return None
        merged = zip(self.merges, self.parts.field_types, strict=True)
        names = {getattr(kind, "name", "") for how, kind in merged if how is not None}
        return (
            None if names & set(FLOATS) else "its aggregates are the same in any grouping and order"
        )


def keyed_aggregate(
    records: RecordType,
    keys: tuple[str, ...],
    aggregates: Mapping[str, AggregateExpression],
    bounds: Mapping[str, str] | None = None,
    bound_type: TypeInformation = INSTANT,
    *,
    is_weighted: bool = False,
    keeps_values: bool = False,
) -> tuple[ExpressionChain, KeyedAggregate]:
    """Return the selection of the parts of a record, and what merges parts.

    Records that are not weighted are added only.
    With `keeps_values`, tallies are kept value by value, and results are emitted as changes.
    """
    builder = _Parts(records, is_weighted=is_weighted, keeps_values=keeps_values)
    results: dict[str, Expression] = {}
    for name in keys:
        builder.add(name_of_key(name), None, typed(Field(name), records, "aggregate"))
        results[name] = Field(name_of_key(name))
    for name, aggregate in aggregates.items():
        results[name] = builder.result_of(name, aggregate)
    chain = ExpressionChain(
        records, (SelectStep(tuple(builder.outputs.items())),), takes_changes=is_weighted
    )
    parts = chain.type_info
    assert isinstance(parts, RowTypeInfo), "a selection makes rows"
    fired = parts
    if bounds:
        names = [*parts.field_names, *WINDOW_BOUNDS]
        fired = RowTypeInfo([*parts.field_types, bound_type, bound_type], names)
        results |= {name: Field(bound) for name, bound in bounds.items()}
    results = {name: typed(tree, fired, "aggregate") for name, tree in results.items()}
    emitted = ExpressionChain(fired, (SelectStep(tuple(results.items())),))
    changes = builder.changes(parts, emitted) if keeps_values else None
    return chain, KeyedAggregate(parts, tuple(builder.merges), emitted, changes)


class _Parts:
    """The parts of some aggregates, which share those of one column: its sum, its buckets."""

    def __init__(self, records: RecordType, *, is_weighted: bool, keeps_values: bool) -> None:
        self._records = records
        self._is_weighted = is_weighted
        self._keeps_values = keeps_values
        self.outputs: dict[str, Expression] = {}
        self.merges: list[str | None] = []
        self._derived: dict[str, Expression] = {}
        self._tallies: set[str] = set()
        self._folded: dict[str, Expression] = {}

    def add(self, name: str, merge: str | None, value: Expression) -> None:
        """Add a column, if it is not there."""
        if name not in self.outputs:
            self.outputs[name] = value
            self.merges.append(merge)

    def result_of(self, name: str, aggregate: AggregateExpression) -> Expression:
        """Add the parts of an aggregate, and return its result without types."""
        tree = aggregate.argument
        argument = None if tree is None else typed(tree, self._records, "aggregate")
        try:
            definition = aggregate_of(aggregate, argument)
        except TypingError as refused:
            raise ArgumentError.here(
                f"aggregate got {name}={aggregate}, which cannot be computed: {refused}",
                hint="Correct the aggregate, or cast its column.",
            ) from refused
        fields = tuple(Field(name_of_part(part, tree)) for part in definition.parts)
        for part, target in zip(definition.parts, fields, strict=True):
            expression = typed(part.of_record, self._records, "aggregate")
            if self._is_weighted:
                expression = typed(weighted(part, expression), self._records, "aggregate")
            self.add(target.name, part.merge, expression)
            if part.merge == LIST:
                of_list = Field(target.name, self.outputs[target.name].type_info)
                _, function, _ = aggregate.parameters
                self._folded[target.name] = Call(
                    "folded", (of_list,), (function,), of_list.type_info
                )
            if part.name == VALUES:
                self._tallies.add(target.name)
        if not definition.derived:
            return definition.result(fields)
        if not self._keeps_values:
            return definition.result(tuple(part.of_record for part in definition.derived))
        (tally,) = fields
        kind = self.outputs[tally.name].type_info
        assert kind is not None, "outputs have types"
        of_tally = RowTypeInfo([kind], [tally.name])
        kept = tuple(Field(name_of_part(part, tree)) for part in definition.derived)
        for part, target in zip(definition.derived, kept, strict=True):
            self._derived[target.name] = typed(part.of_record, of_tally, "aggregate")
            self.add(target.name, part.merge, Literal(None, self._derived[target.name].type_info))
        return definition.result(kept)

    def changes(self, parts: RowTypeInfo, results: ExpressionChain) -> ChangelogOutput:
        """Return the tallies that are kept value by value, and the parts derived from them."""
        (step,) = results.steps
        assert isinstance(step, SelectStep), "results are one selection"
        read = {name for _, expression in step.outputs for name in fields_of(expression)}
        names = parts.field_names
        values = tuple(position for position, name in enumerate(names) if name in self._tallies)
        derived = None
        if self._derived:
            derived_parts = tuple(
                (name, self._derived_part(name, position)) for position, name in enumerate(names)
            )
            derived = ExpressionChain(parts, (SelectStep(derived_parts),))
        folded = None
        if self._folded:
            fields = zip(names, parts.field_types, strict=True)
            outputs = ((name, self._folded.get(name) or Field(name, kind)) for name, kind in fields)
            folded = ExpressionChain(parts, (SelectStep(tuple(outputs)),))
        whole = frozenset(position for position in values if names[position] in read)
        return ChangelogOutput(values=values, read=whole, derived=derived, folded=folded)

    def _derived_part(self, name: str, position: int) -> Expression:
        kind = self.outputs[name].type_info
        if self.merges[position] is None:
            return Field(name, kind)
        return self._derived.get(name) or Literal(None, kind)
