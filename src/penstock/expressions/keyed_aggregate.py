"""The aggregates of `KeyedStream.aggregate`, as a value: records of parts, their merge, and results.

record ──select──▶ key and parts ──merge──▶ key and parts ──select──▶ key and results
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ArgumentError, ExpressionError
from penstock.expressions.aggregates import (
    AggregateExpression,
    aggregate_of,
    name_of_key,
    name_of_part,
    part_in_words,
    weighted,
)
from penstock.expressions.kinds import COMPUTED, DECIMAL, FLOATS, INSTANT, TypingError
from penstock.expressions.merging import A_SUM, Merge, merge_of
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Expression, Field
from penstock.expressions.typing import RecordType, typed
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, row_like, values_of_row

WINDOW_BOUNDS = ("window_start", "window_end")
"""Names of the bounds of a window; the end is not part of it."""

TALLY = "tally"
"""The merge of maps from a value to how often it came."""

_OTHERS_IN_SQL = frozenset({("sum", DECIMAL)})
"""Merges, with names of types, whose result Spark SQL rounds."""


@dataclass(frozen=True, slots=True)
class ChangelogOutput:
    """The changelog of the newest results of keys, which is emitted in place of them.

    Attributes:
        rows: Position of the part that counts the rows of a key, which has no result and no state without rows; None if
            no row is taken back.
        ttl_ms: Time in milliseconds after the last record of a key at which it is forgotten; None is never.
    """

    rows: int | None = None
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class KeyedAggregate:
    """Merges two records of parts of one key; picklable.

    Attributes:
        parts: Type of the records of parts: columns of the key, then the parts.
        merges: `sum`, `min`, `max` or `tally` of each part; None for columns of the key.
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
        found = [
            None if how is None else merge_of(how, name)
            for how, name in zip(self.merges, names, strict=True)
        ]
        object.__setattr__(self, "_merges", tuple(found))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.parts, self.merges, self.results, self.changes)
        return KeyedAggregate, fields if self.changes else fields[:-1]

    def __call__(self, earlier: Row, later: Row) -> Row:
        """Return the record of parts of both; NULL is no value.

        Raises:
            ExpressionError: A sum leaves its type; names it.
        """
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
        return self.keys > 0 and all(getattr(kind, "name", "") in COMPUTED for kind in kinds)

    @property
    def is_merged_alike_by_sql(self) -> bool:
        """True if Spark SQL adds the same sums, and has the same keys: of columns it has, 0.0 and -0.0 are one for it too."""
        named = zip(self.merges, self.parts.field_types, strict=True)
        merged = {(how, getattr(kind, "name", "")) for how, kind in named}
        # Spark SQL counts values by grouping on them, which it can do once
        is_counted_once = self.merges.count(TALLY) <= 1
        return self.has_columns and is_counted_once and merged.isdisjoint(_OTHERS_IN_SQL)

    @property
    def exact_because(self) -> str | None:
        """Reason why the results are the same in any grouping and order; completes "because …". None if they may differ.

        Sums of floats depend on the order, and of 0.0 and -0.0 the first is the least.
        """
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
) -> tuple[ExpressionChain, KeyedAggregate]:
    """Return the selection of the parts of a record, and what merges parts; records have weights, or are added only.

    Raises:
        ArgumentError: An aggregate does not take values of its argument's type.
        UnknownFieldError: There is no such column; it names the near ones.
    """
    outputs: dict[str, Expression] = {
        name_of_key(name): typed(Field(name), records, "aggregate") for name in keys
    }
    merges: list[str | None] = [None] * len(keys)
    results: dict[str, Expression] = {name: Field(name_of_key(name)) for name in keys}
    for name, each in aggregates.items():
        tree = each.argument
        argument = None if tree is None else typed(tree, records, "aggregate")
        try:
            found = aggregate_of(each, argument)
        except TypingError as refused:
            raise ArgumentError.here(
                f"aggregate got {name}={each}, which cannot be computed: {refused}",
                hint="Correct the aggregate, or cast its column.",
            ) from refused
        fields = [Field(name_of_part(part, tree)) for part in found.parts]
        for part, at in zip(found.parts, fields, strict=True):
            if at.name not in outputs:  # aggregates of one column share parts: its sum, its buckets
                made = typed(part.of_record, records, "aggregate")
                if is_weighted:
                    made = typed(weighted(part, made), records, "aggregate")
                outputs[at.name] = made
                merges.append(part.merge)
        results[name] = found.result(tuple(fields))
    selection = (SelectStep(tuple(outputs.items())),)
    chain = ExpressionChain(records, selection, takes_changes=is_weighted)
    parts = chain.type_info
    assert isinstance(parts, RowTypeInfo), "a selection makes rows"
    fired = parts
    if bounds:
        names = [*parts.field_names, *WINDOW_BOUNDS]
        fired = RowTypeInfo([*parts.field_types, bound_type, bound_type], names)
        results |= {name: Field(bound) for name, bound in bounds.items()}
    results = {name: typed(tree, fired, "aggregate") for name, tree in results.items()}
    emitted = ExpressionChain(fired, (SelectStep(tuple(results.items())),))
    return chain, KeyedAggregate(parts, tuple(merges), emitted)
