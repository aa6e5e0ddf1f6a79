"""Expressions over streams, record by record: a chain of conditions and selections.

Operations on columns that follow each other are one chain, which is evaluated at once: no record is made
between them. A chain is a frozen value in the program of a level, with one meaning for all evaluators.

Conditions as values: what a chain computes of all records, also of those that its conditions drop.

where price > 0, select each=amount / price      kept: price > 0      each: case(price > 0, amount / price, NULL)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.expressions.facts import nowhere
from penstock.expressions.functions import FUNCTIONS
from penstock.expressions.kinds import BOOLEAN, COMPUTED, DECIMAL, name_of
from penstock.expressions.tree import WEIGHT, Call, Expression, Field, Literal, fields_of, parts_of
from penstock.expressions.typing import RecordType
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo


@dataclass(frozen=True, slots=True)
class WhereStep:
    """Keeps the records for which a condition is true. NULL is not true.

    Attributes:
        condition: A typed expression of type BOOLEAN.
    """

    condition: Expression

    def __str__(self) -> str:
        return f"where {self.condition}"


@dataclass(frozen=True, slots=True)
class SelectStep:
    """Makes a record of expressions.

    Attributes:
        outputs: Names of the fields, each with a typed expression.
    """

    outputs: tuple[tuple[str, Expression], ...]

    @property
    def type_info(self) -> RowTypeInfo:
        """Type of the records that it makes."""
        names = [name for name, _ in self.outputs]
        return RowTypeInfo([_type_of(expression) for _, expression in self.outputs], names)

    def __str__(self) -> str:
        def shown(name: str, expression: Expression) -> str:
            is_same = isinstance(expression, Field) and expression.name == name
            return name if is_same else f"{name}={expression}"

        return f"select {', '.join(shown(*output) for output in self.outputs)}"


Step = WhereStep | SelectStep

_SUMS = frozenset({"add", "subtract"})


@dataclass(frozen=True, slots=True)
class ExpressionChain:
    """Steps that are evaluated at once.

    Attributes:
        records: Type of the records it reads.
        steps: The steps, at least one.
        takes_changes: Whether it takes rows of every kind; otherwise one that is no INSERT is an error.
    """

    records: RecordType
    steps: tuple[Step, ...]
    takes_changes: bool = True

    @property
    def type_info(self) -> RecordType:
        """Type of the records it emits."""
        types = [step.type_info for step in self.steps if isinstance(step, SelectStep)]
        return types[-1] if types else self.records

    @property
    def expressions(self) -> list[Expression]:
        """Conditions and outputs of all steps."""
        return [expression for step in self.steps for expression in _expressions_of(step)]

    @property
    def has_conditions(self) -> bool:
        """True if it drops records."""
        return any(isinstance(step, WhereStep) for step in self.steps)

    @property
    def reads_weights(self) -> bool:
        """True if kinds of records become values, so that all results are added."""
        return any(
            isinstance(part, Call) and part.function == WEIGHT.function
            for expression in self.expressions
            for part in parts_of(expression)
        )

    @property
    def unprojected_because(self) -> str | None:
        """Reason why Spark SQL does not have the same answer for every record; None if it has."""
        expressions = self.expressions
        if any(map(adds_decimals, expressions)):
            return "Spark SQL adds decimals with a digit less"
        called = {
            part.function
            for expression in expressions
            for part in parts_of(expression)
            if isinstance(part, Call)
        }
        outside = sorted(name for name in called if FUNCTIONS[name].spark is nowhere)
        return f"only workers compute {outside[0]}" if outside else None

    def followed_by(self, chain: ExpressionChain) -> ExpressionChain:
        """Return both chains as one; the second reads what this one emits."""
        both = self.takes_changes and chain.takes_changes
        return replace(self, steps=(*self.steps, *chain.steps), takes_changes=both)

    def needed(self) -> ExpressionChain:
        """Return the chain without the columns that no later step and no result has.

        So what nothing reads is not computed, wherever the chain is evaluated.
        """
        needed: set[str] | None = None  # None: all fields of the results of the step
        steps: list[Step] = []
        for step in reversed(self.steps):
            if isinstance(step, WhereStep):
                if needed is not None:
                    needed |= set(fields_of(step.condition))
                steps.append(step)
                continue
            kept = [output for output in step.outputs if needed is None or output[0] in needed]
            kept = kept or list(step.outputs[:1])  # a row has at least one field
            steps.append(SelectStep(tuple(kept)))
            needed = set(_read(expression for _, expression in kept))
        return replace(self, steps=tuple(reversed(steps)))

    def __str__(self) -> str:
        return ", ".join(map(str, self.steps))


def adds_decimals(expression: Expression) -> bool:
    """Return whether an expression has a sum or difference of decimals.

    That of two with 38 digits has 39 in Spark SQL, which keeps 38 of them: one less behind the point. A cast to
    fewer digits would refuse large numbers.
    """
    return any(
        isinstance(part, Call) and part.function in _SUMS and name_of(part) == DECIMAL
        for part in parts_of(expression)
    )


def _expressions_of(step: Step) -> Iterable[Expression]:
    return (
        (step.condition,)
        if isinstance(step, WhereStep)
        else (expression for _, expression in step.outputs)
    )


def _read(expressions: Iterable[Expression]) -> Iterable[str]:
    return (name for expression in expressions for name in fields_of(expression))


def _type_of(expression: Expression) -> TypeInformation:
    assert expression.type_info is not None, "a step holds typed expressions"
    return expression.type_info


_FALSE = Literal(value=False, kind=BOOLEAN)


def inlined(chain: ExpressionChain) -> tuple[Expression | None, tuple[Expression, ...]]:
    """Return whether the conditions of a chain keep a record, None without any, and its results: expressions of the record that it reads."""
    kept: Expression | None = None
    named = zip(chain.records.field_names, chain.records.field_types, strict=True)
    known: dict[str, Expression] = {name: Field(name, kind) for name, kind in named}
    for step in chain.steps:
        if isinstance(step, WhereStep):
            kept = kept_by(kept, _of_records(step.condition, known))
        else:
            known = {
                name: if_kept(kept, _of_records(expression, known))
                for name, expression in step.outputs
            }
    return kept, tuple(known.values())


def _of_records(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Field):
        return known[expression.name]
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(_of_records(argument, known) for argument in expression.arguments)
    return replace(expression, arguments=arguments)


def kept_by(before: Expression | None, condition: Expression) -> Expression:
    """Return whether a condition keeps a record that those before have kept; never NULL."""
    is_true = Call("coalesce", (condition, _FALSE), kind=BOOLEAN)
    return is_true if before is None else chosen(before, is_true, _FALSE)


def if_kept(kept: Expression | None, expression: Expression) -> Expression:
    """Return an expression that is not computed for other records: it may have no value for them."""
    if kept is None or not isinstance(expression, Call):
        return expression
    if name_of(expression) in COMPUTED:
        return chosen(kept, expression, Literal(None, expression.type_info))
    return replace(
        expression, arguments=tuple(if_kept(kept, argument) for argument in expression.arguments)
    )


def chosen(condition: Expression, value: Expression, other: Expression) -> Expression:
    """Return one of two expressions."""
    return Call("case", (condition, value, other), kind=value.type_info)
