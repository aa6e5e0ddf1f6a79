"""Computes scalar expressions in Python: one function of generated text per list of expressions.

    a > 1 AND b IS NULL     False if (t0 := (None if (t1 := v[0]) is None else t1 > 1)) is False or … else …

NULL is None. Each argument is computed once and kept in a variable, which is tested for NULL. AND, OR, CASE and COALESCE
compute no more arguments than needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import ExpressionError, PenstockError
from penstock.expressions.functions import FUNCTIONS, INFIX, USER
from penstock.expressions.tree import Call, Expression, Field, Literal


class RowValues:
    """Computes some expressions of a row.

    It is pickled as its expressions.

    Attributes:
        of: Returns the list of their values, given the list of the values of a row.
    """

    def __init__(self, scalars: Sequence[Expression]) -> None:
        """Compile expressions."""
        self.scalars = tuple(scalars)
        writer = _Writer()
        inside = ", ".join(map(writer.text, self.scalars))
        self.of: Callable[[Sequence[Any]], list[Any]] = writer.compiled(f"[{inside}]")

    def __reduce__(self) -> tuple[Any, ...]:
        return RowValues, (self.scalars,)


class RowCondition:
    """Computes whether a condition is true of a row; NULL is not.

    It is pickled as its expression.

    Attributes:
        holds: Returns whether it is true, given the list of the values of a row.
    """

    def __init__(self, condition: Expression) -> None:
        """Compile a condition."""
        self.condition = condition
        writer = _Writer()
        self.holds: Callable[[Sequence[Any]], bool] = writer.compiled(
            f"({writer.text(condition)}) is True"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RowCondition, (self.condition,)


def value_of(scalar: Expression) -> Any:
    """Return the value of an expression that reads no column."""
    return RowValues((scalar,)).of(())[0]


class _Writer:
    """Writes the text of one function."""

    def __init__(self) -> None:
        self._bound: dict[str, Any] = {"ExpressionError": ExpressionError}
        self._variables = 0

    def compiled(self, text: str) -> Callable[[Sequence[Any]], Any]:
        """Return the function of the values of a row that a text computes."""
        source = f"def evaluate(v):\n    return {text}\n"
        exec(compile(source, "<sql>", "exec"), self._bound)  # noqa: S102 - the text is written above
        evaluate: Callable[[Sequence[Any]], Any] = self._bound["evaluate"]
        return evaluate

    def text(self, scalar: Expression) -> str:  # noqa: PLR0911 - one per class
        """Return the text that computes an expression."""
        if isinstance(scalar, Field):
            return f"v[{scalar.position}]"
        if isinstance(scalar, Literal):
            return self._constant(scalar.value)
        special = _SPECIAL.get(scalar.function)
        if special is not None:
            return special(self, scalar)
        if scalar.function in INFIX:
            return self._strict(scalar, f" {INFIX[scalar.function]} ".join)
        if scalar.function.startswith(USER):
            called = self._bind(_guarded(scalar))
            return self._called(called, scalar)
        function = FUNCTIONS[scalar.function]
        assert function.python is not None, f"only columns have {scalar.function}"
        called = self._bind(function.python(scalar))
        if not function.is_strict:
            return self._called(called, scalar)
        return self._strict(scalar, lambda values: f"{called}({', '.join(values)})")

    def variable(self) -> str:
        """Return a new name."""
        self._variables += 1
        return f"t{self._variables}"

    def _called(self, called: str, call: Call) -> str:
        return f"{called}({', '.join(map(self.text, call.arguments))})"

    def _strict(self, call: Call, make_text: Callable[[list[str]], str]) -> str:
        """Return a text that is None if an argument is."""
        tests, values = [], []
        for argument in call.arguments:
            if isinstance(argument, Literal) and argument.value is not None:
                values.append(self.text(argument))
                continue
            name = self.variable()
            tests.append(f"({name} := {self.text(argument)}) is None")
            values.append(name)
        if not tests:
            return f"({make_text(values)})"
        return f"(None if {' or '.join(tests)} else {make_text(values)})"

    def _constant(self, value: Any) -> str:
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return repr(value)
        return self._bind(value)

    def _bind(self, value: Any) -> str:
        name = f"k{len(self._bound)}"
        self._bound[name] = value
        return name


def _and(writer: _Writer, call: Call) -> str:
    left, right = writer.variable(), writer.variable()
    first, second = map(writer.text, call.arguments)
    return (
        f"(False if ({left} := {first}) is False or ({right} := {second}) is False"
        f" else None if {left} is None or {right} is None else True)"
    )


def _or(writer: _Writer, call: Call) -> str:
    left, right = writer.variable(), writer.variable()
    first, second = map(writer.text, call.arguments)
    return (
        f"(True if ({left} := {first}) is True or ({right} := {second}) is True"
        f" else None if {left} is None or {right} is None else False)"
    )


def _not(writer: _Writer, call: Call) -> str:
    name = writer.variable()
    return f"(None if ({name} := {writer.text(call.arguments[0])}) is None else not {name})"


def _is_null(writer: _Writer, call: Call) -> str:
    return f"(({writer.variable()} := {writer.text(call.arguments[0])}) is None)"


def _is_distinct(writer: _Writer, call: Call) -> str:
    left, right = writer.variable(), writer.variable()
    first, second = map(writer.text, call.arguments)
    return (
        f"(({right} := {second}) is not None if ({left} := {first}) is None"
        f" else ({right} := {second}) is None or {left} != {right})"
    )


def _case(writer: _Writer, call: Call) -> str:
    *pairs, other = map(writer.text, call.arguments)
    turns = zip(pairs[::2], pairs[1::2], strict=True)
    return f"({' '.join(f'{value} if {test} is True else' for test, value in turns)} {other})"


def _coalesce(writer: _Writer, call: Call) -> str:
    *first, last = call.arguments
    choices = []
    for argument in first:
        name = writer.variable()
        choices.append(f"{name} if ({name} := {writer.text(argument)}) is not None else ")
    return f"({''.join(choices)}{writer.text(last)})"


_SPECIAL: dict[str, Callable[[_Writer, Call], str]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "is_distinct": _is_distinct,
    "case": _case,
    "coalesce": _coalesce,
}


def _guarded(call: Call) -> Callable[..., Any]:
    """Return the call of a function of the user, whose error names it."""
    (function,) = call.parameters
    evaluate = getattr(function, "eval", function)
    kind = call.type.type_info
    name = call.function.removeprefix(USER)

    def evaluate_guarded(*values: Any) -> Any:
        try:
            value = evaluate(*values)
            return None if value is None else kind.coerce(value)
        except PenstockError:
            raise
        except Exception as wrong:
            raise ExpressionError(
                f"the function {name} failed for {values!r:.200}: {wrong!r}",
                hint="Correct the function, or guard it with CASE.",
            ) from wrong

    return evaluate_guarded
