"""Gives every node of an expression its type, against the type of the records."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import ArgumentError, UnknownFieldError, did_you_mean
from penstock.expressions.functions import FUNCTIONS
from penstock.expressions.kinds import TypingError, is_null_constant, literal
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.types.infer import InferredTypeInfo
from penstock.types.records import RowTypeInfo, TupleTypeInfo

RecordType = RowTypeInfo | TupleTypeInfo
"""Types of records that have columns."""


def record_type(type_info: object, operation: str) -> RecordType:
    """Return the declared type of records that have columns."""
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return type_info
    was = "was inferred from an annotation and is not checked"
    reason = was if isinstance(type_info, InferredTypeInfo) else "has no columns"
    raise ArgumentError.here(
        f"{operation} needs a stream of rows; the type of this one, {type_info!r}, {reason}",
        hint="Declare the type before: type_info of the source, or output_type="
        "Types.ROW_NAMED(…) of the operation.",
    )


def typed(expression: Expression, records: RecordType, operation: str) -> Expression:
    """Return an expression with the type of every node."""
    typed_expression = _typed(expression, records, operation)
    if is_null_constant(typed_expression):
        raise ArgumentError.here(
            f"{operation} got {expression}, which has no type", hint="Write lit(None, type)."
        )
    return typed_expression


def _typed(expression: Expression, records: RecordType, operation: str) -> Expression:
    if isinstance(expression, Field):
        return _field(expression, records, operation)
    try:
        if isinstance(expression, Literal):
            return literal(expression.value)
        arguments = tuple(_typed(argument, records, operation) for argument in expression.arguments)
        rule = FUNCTIONS[expression.function].rule
        assert rule is not None, f"only SQL has {expression.function}"
        return rule(Call(expression.function, arguments, expression.parameters))
    except TypingError as refused:
        raise ArgumentError.here(
            f"{operation} got {expression}, which cannot be computed: {refused}",
            hint="Correct the expression, or cast its operands.",
        ) from refused


def _field(field: Field, records: RecordType, operation: str) -> Field:
    names = records.field_names
    if field.name not in names:
        raise UnknownFieldError.here(
            f"{operation} reads the column {field.name!r}, which the records do not have"
            f"{did_you_mean(field.name, names)}",
            hint=f"Use one of {', '.join(names)}.",
        )
    return replace(field, kind=records.field_types[names.index(field.name)])
