"""Functions that are called by name: which arguments they take, and what they return."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from penstock.errors import ExpressionError, SqlError, did_you_mean
from penstock.expressions.functions import FUNCTIONS, USER
from penstock.expressions.python.patterns import Style, pattern_of
from penstock.expressions.python.times import MILLIS, MONTHS, PARTS
from penstock.expressions.tree import Call, Expression, Literal
from penstock.sql.advice import WINDOW_FUNCTIONS
from penstock.sql.catalogue import FunctionKind
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding import conversions as types
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.conversions import arithmetic
from penstock.sql.scalar_binding.intervals import shifted
from penstock.sql.scalar_binding.zone import session_zone
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    NULL,
    NUMBERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_LTZ,
    TIMESTAMPS,
    WHOLE,
    SqlType,
    array,
    common_type,
)

Arguments = Sequence[Expression]
Rule = Callable[[str, Arguments, exp.Expr], Expression]
"""Types a call of a name with arguments."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters of a function.

    Attributes:
        function: Its name in the table of scalar functions.
        takes: Type of each argument; the last one is that of all that follow, if `is_variadic`.
        optional: Number of last arguments that may be missing.
        is_variadic: True if more arguments may follow.
        parameters: Constants that are part of the function.
    """

    function: str
    takes: tuple[SqlType, ...]
    result: SqlType
    optional: int = 0
    is_variadic: bool = False
    parameters: tuple[object, ...] = ()

    def __call__(self, name: str, arguments: Arguments, node: exp.Expr) -> Expression:
        """Return the typed call, or its value if it is constant."""
        return types.folded(self.typed(name, arguments, node))

    def typed(
        self, name: str, arguments: Arguments, node: exp.Expr, parameters: tuple[object, ...] = ()
    ) -> Call:
        """Return the typed call."""
        most, least = len(self.takes), len(self.takes) - self.optional
        if not least <= len(arguments) or (len(arguments) > most and not self.is_variadic):
            raise _wrong_count(
                name, arguments, node, f"{least}" if least == most else f"{least} to {most}"
            )
        required = [*self.takes, *self.takes[-1:] * max(0, len(arguments) - most)]
        given = tuple(_taken(name, *pair, node) for pair in zip(arguments, required, strict=False))
        return Call(self.function, given, parameters or self.parameters, self.result)


def _taken(name: str, given: Expression, required: SqlType, node: exp.Expr) -> Expression:
    kind = given.type
    if kind == required:
        return given
    if kind == NULL:
        return Literal(None, required)
    is_number = kind.name in NUMBERS and required.name in NUMBERS
    is_text_constant = isinstance(given, Literal) and kind == STRING and required.name != "BOOLEAN"
    if (
        common_type(kind, required) == required
        or (is_number and required != INT)
        or is_text_constant
    ):
        return types.converted(given, required)
    if is_number and kind.name in {"TINYINT", "SMALLINT", "BIGINT"}:
        return types.converted(given, required)
    raise wrong(f"{name} got {kind} where it takes {required}", node, hint="CAST the argument.")


def _wrong_count(name: str, arguments: Arguments, node: exp.Expr, required: str) -> SqlError:
    return wrong(
        f"{name} got {len(arguments)} arguments, and takes {required}",
        node,
        hint="Correct the call.",
    )


def _of_number(function: str) -> Rule:
    def rule(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
        if len(arguments) != 1:
            raise _wrong_count(name, arguments, node, "1")
        (value,) = arguments
        value = Literal(None, INT) if value.type == NULL else value
        if value.type.name not in NUMBERS:
            raise wrong(f"{name} got {value.type}, no number", node, hint="CAST it to a number.")
        if function in {"floor", "ceil"}:
            if value.type.name not in {"DECIMAL", "FLOAT", "DOUBLE"}:
                return value
            if value.type.name == "DECIMAL":
                kind = SqlType("DECIMAL", min(38, value.type.precision - value.type.scale + 1), 0)
                return types.folded(Call(function, (value,), kind=kind))
        return types.folded(Call(function, (value,), kind=value.type))

    return rule


def _round(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) not in {1, 2}:
        raise _wrong_count(name, arguments, node, "1 or 2")
    value, digits = (*arguments, Literal(0, INT))[:2]
    if value.type.name not in NUMBERS:
        raise wrong(f"{name} got {value.type}, no number", node, hint="CAST it to a number.")
    kind = value.type
    if kind.name == "DECIMAL" and isinstance(digits, Literal) and digits.value is not None:
        scale = max(0, min(kind.scale, digits.value))
        kind = SqlType("DECIMAL", min(38, kind.precision - kind.scale + scale + 1), scale)
    return types.folded(Call("sql_round", (value, _taken(name, digits, INT, node)), kind=kind))


def _modulo(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) != 2:  # noqa: PLR2004
        raise _wrong_count(name, arguments, node, "2")
    return arithmetic("sql_modulo", types.remainder_type, (arguments[0], arguments[1]), node)


def _alike(function: str) -> Rule:
    """Return the rule of functions whose arguments and result have one type."""

    def rule(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
        if not arguments:
            raise _wrong_count(name, arguments, node, "at least 1")
        given, kind = types.together(arguments, node, name)
        if kind == NULL:
            return Literal(None, NULL)
        return given[0] if len(given) == 1 else types.folded(Call(function, given, kind=kind))

    return rule


def _nullif(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) != 2:  # noqa: PLR2004
        raise _wrong_count(name, arguments, node, "2")
    (left, right), kind = types.together(arguments, node, name)
    if kind == NULL:
        return Literal(None, NULL)
    same = Call("equal", (left, right), kind=BOOLEAN)
    null = Literal(None, arguments[0].type)
    return Call("case", (same, null, arguments[0]), kind=arguments[0].type)


def _part(unit: str) -> Rule:
    def rule(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
        if len(arguments) != 1:
            raise _wrong_count(name, arguments, node, "1")
        (value,) = arguments
        if value.type.name not in {"DATE", *TIMESTAMPS}:
            raise wrong(f"{name} got {value.type}", node, hint="Pass a date or timestamp.")
        if value.type == DATE and unit in {"HOUR", "MINUTE", "SECOND"}:
            raise wrong(f"a DATE has no {unit}", node, hint="CAST it to TIMESTAMP.")
        local = types.in_local_time(value)
        return types.folded(Call("extract", (local,), (unit,), BIGINT))

    return rule


def _of_moment(function: str, result: SqlType, *more: SqlType) -> Rule:
    """Return the rule of functions of a date or timestamp and more."""

    def rule(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
        if len(arguments) != 1 + len(more):
            raise _wrong_count(name, arguments, node, str(1 + len(more)))
        value, *others = arguments
        if value.type == STRING:
            value = types.cast_call("try_cast", value, TIMESTAMP)
        if value.type.name not in {"DATE", *TIMESTAMPS}:
            raise wrong(f"{name} got {value.type}", node, hint="Pass a date or timestamp.")
        value = types.in_local_time(value)
        given = [_taken(name, *pair, node) for pair in zip(others, more, strict=True)]
        return _by_pattern(Call(function, (value, *given), kind=result), Style.STRICT, node)

    return rule


def _by_pattern(call: Call, style: Style, node: exp.Expr) -> Expression:
    """Return a call whose second argument is a pattern, which is checked if it is a constant."""
    pattern = call.arguments[1] if len(call.arguments) > 1 else None
    if isinstance(pattern, Literal) and pattern.value is not None:
        try:
            parsed = pattern_of(pattern.value, style)
        except ExpressionError as cause:
            raise wrong(cause.problem, node, hint=cause.hint) from cause
        if call.function == "date_format" and parsed.has_zone:
            raise wrong(
                f"the pattern {pattern.value!r} has a zone, and a TIMESTAMP has none",
                node,
                hint="Leave the zone out.",
            )
    return types.folded(call)


def _patterned(signature: Signature, style: Style, *, is_zoned: bool = False) -> Rule:
    """Return the rule of a function with a pattern; it may have the zone of the session as a parameter."""

    def rule(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
        parameters = (session_zone(),) if is_zoned else ()
        call = signature.typed(name, arguments, node, parameters)
        return _by_pattern(call, style, node)

    return rule


def _to_date(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) == 1:
        return types.cast_call("try_cast", _taken(name, arguments[0], STRING, node), DATE)
    return _patterned(Signature("to_date", (STRING, STRING), DATE), Style.LENIENT)(
        name, arguments, node
    )


_TO_TIMESTAMP = _patterned(
    Signature("to_timestamp", (STRING, STRING), TIMESTAMP, optional=1), Style.STRICT
)


def _to_timestamp_ltz(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if arguments and arguments[0].type == STRING:
        moment = _TO_TIMESTAMP(name, arguments, node)  # a text is a time of UTC, whatever the zone
        return types.folded(Call("sql_cast", (moment,), ("UTC",), TIMESTAMP_LTZ))
    return Signature("to_timestamp_ltz", (BIGINT, INT), TIMESTAMP_LTZ, optional=1)(
        name, arguments, node
    )


def _cardinality(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) != 1 or arguments[0].type.name not in {"ARRAY", "MAP"}:
        raise wrong(f"{name} takes an ARRAY or a MAP", node, hint="Correct the call.")
    return Call("cardinality", tuple(arguments), kind=INT)


def _element(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) != 1 or arguments[0].type.name != "ARRAY":
        raise wrong(f"{name} takes an ARRAY", node, hint="Correct the call.")
    return Call("element", tuple(arguments), kind=arguments[0].type.components[0])


def _array_contains(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    if len(arguments) != 2 or arguments[0].type.name != "ARRAY":  # noqa: PLR2004
        raise wrong(f"{name} takes an ARRAY and a value", node, hint="Correct the call.")
    required = arguments[0].type.components[0]
    return Call(
        "array_contains", (arguments[0], _taken(name, arguments[1], required, node)), kind=BOOLEAN
    )


_DIGESTS = ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512")
_RULES: Mapping[str, Rule] = {
    "ABS": _of_number("abs"),
    "FLOOR": _of_number("floor"),
    "CEIL": _of_number("ceil"),
    "CEILING": _of_number("ceil"),
    "SIGN": _of_number("sign"),
    "ROUND": _round,
    "MOD": _modulo,
    "GREATEST": _alike("sql_greatest"),
    "LEAST": _alike("sql_least"),
    "COALESCE": _alike("coalesce"),
    "IFNULL": _alike("coalesce"),
    "NULLIF": _nullif,
    "INSTR": lambda name, values, node: Signature("position", (STRING, STRING), INT)(
        name, values[::-1], node
    ),
    "YEAR": _part("YEAR"),
    "QUARTER": _part("QUARTER"),
    "MONTH": _part("MONTH"),
    "WEEK": _part("WEEK"),
    "DAYOFMONTH": _part("DAY"),
    "DAYOFYEAR": _part("DOY"),
    "DAYOFWEEK": _part("DOW"),
    "HOUR": _part("HOUR"),
    "MINUTE": _part("MINUTE"),
    "SECOND": _part("SECOND"),
    "DATE_FORMAT": _of_moment("date_format", STRING, STRING),
    "TO_TIMESTAMP": _TO_TIMESTAMP,
    "TO_DATE": _to_date,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "FROM_UNIXTIME": _patterned(
        Signature("from_unixtime", (BIGINT, STRING), STRING, optional=1),
        Style.LENIENT,
        is_zoned=True,
    ),
    "UNIX_TIMESTAMP": _patterned(
        Signature("unix_timestamp", (STRING, STRING), BIGINT, optional=1),
        Style.LENIENT,
        is_zoned=True,
    ),
    "CARDINALITY": _cardinality,
    "ELEMENT": _element,
    "ARRAY_CONTAINS": _array_contains,
    **{
        name: Signature("digest", (STRING,), STRING, parameters=(name.lower(),))
        for name in _DIGESTS
    },
}
"""Name to rule, of functions whose rows in the table have no signature."""

_SIGNATURE = re.compile(r"(?P<names>[A-Z0-9_|]+)\((?P<takes>.*)\) (?P<result>\S+)")
_TYPES = {"ARRAY<STRING>": array(STRING)}


@cache
def _signatures(function: str, text: str) -> dict[str, Rule]:
    """Return the names of a function of the table, with its signature."""
    match = _SIGNATURE.fullmatch(text)
    assert match is not None, f"{text} is no signature"
    takes = match["takes"].split(", ")
    result = _TYPES.get(match["result"]) or SqlType(match["result"])
    signature = Signature(
        function,
        tuple(SqlType(name.rstrip("?*")) for name in takes),
        result,
        optional=sum(name.endswith("?") for name in takes),
        is_variadic=takes[-1].endswith("*"),
    )
    return dict.fromkeys(match["names"].split("|"), signature)


def rules() -> dict[str, Rule]:
    """Return the rules of all functions that are called by name."""
    by_name = dict(_RULES)
    for name, row in FUNCTIONS.items():
        by_name |= _signatures(name, row.sql) if row.sql else {}
    return by_name


AGGREGATES = frozenset(
    {
        *("ARRAY_AGG", "AVG", "COLLECT", "COUNT", "LISTAGG", "MAX", "MIN", "STRING_AGG", "SUM"),
        *("STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP"),
        *("FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD"),
    }
)
"""Functions of several rows, which GROUP BY or OVER compute before expressions are bound."""

UNPREDICTABLE = frozenset(
    {
        "NOW",
        "RAND",
        "RAND_INTEGER",
        "UUID",
        "PROCTIME",
        "CURRENT_ROW_TIMESTAMP",
        "CURRENT_WATERMARK",
    }
)
"""Functions whose values depend on when they are computed."""

_SPANS = ("TIMESTAMPDIFF", "TIMESTAMPADD")
_OF_TIME = ("HOUR", "MINUTE", "SECOND", "MILLISECOND")


def call_named(name: str, arguments: Arguments, node: exp.Expr) -> Expression:
    """Return a call of a function of the table."""
    return rules()[name](name, arguments, node)


def anonymous(binder: Binder, node: exp.Expr) -> Expression:
    """Return the call of a function by its name."""
    name = node.name.upper()
    own = binder.catalogue.find_function(node.name)
    if own is not None:
        if own.kind is not FunctionKind.SCALAR:
            raise wrong(
                f"{node.name} is a function of kind {own.kind.value}",
                node,
                hint="Call a scalar function.",
            )
        arguments = tuple(binder.scalar(argument) for argument in node.expressions)
        return Call(f"{USER}{own.name}", arguments, (own.function,), own.result_type)
    if name in UNPREDICTABLE or (name == "UNIX_TIMESTAMP" and not node.expressions):
        raise unsupported(
            f"{name}, whose value depends on when it is computed,",
            node,
            hint="Take the time of the rows: history and live must have the same answer.",
        )
    if name in AGGREGATES:
        raise unsupported(
            f"the aggregate {name} here: in WHERE, ON, GROUP BY or another aggregate",
            node,
            hint="Compute it in a subquery, or use it in HAVING.",
        )
    if name == "ROW":
        raise unsupported("ROW(…)", node, hint="Select the fields as columns.")
    if name in _SPANS:
        return _span(binder, name, node)
    if name in WINDOW_FUNCTIONS:
        raise unsupported(
            f"the window function {name} of GROUP BY", node, hint=WINDOW_FUNCTIONS[name]
        )
    if name not in rules():
        near = did_you_mean(name, tuple(rules()))
        raise wrong(
            f"there is no function {name}{near}", node, hint="CREATE FUNCTION makes one of Python."
        )
    return call_named(name, [binder.scalar(argument) for argument in node.expressions], node)


def _span(binder: Binder, name: str, node: exp.Expr) -> Expression:
    if len(node.expressions) != 3:  # noqa: PLR2004
        raise wrong(f"{name} takes a unit and two more arguments", node, hint="Correct the call.")
    unit = node.expressions[0].name.upper()
    if unit not in {*MILLIS, *MONTHS, "WEEK"}:
        raise unsupported(f"the unit {unit}", node, hint=f"Use one of {', '.join(PARTS)}.")
    first, second = (binder.scalar(argument) for argument in node.expressions[1:])
    if name == "TIMESTAMPDIFF":
        moments = [
            types.converted(moment, TIMESTAMP) if moment.type == STRING else moment
            for moment in (first, second)
        ]
        for moment in moments:
            if moment.type.name not in {"DATE", *TIMESTAMPS}:
                raise wrong(f"{name} got {moment.type}", node, hint="Pass dates or timestamps.")
        if len({moment.type.name == "TIMESTAMP_LTZ" for moment in moments}) > 1:
            moments = [types.in_local_time(moment) for moment in moments]
        return types.folded(Call("timestampdiff", tuple(moments), (unit,), INT))
    return _added(name, unit, first, second, node)


def _added(
    name: str, unit: str, first: Expression, second: Expression, node: exp.Expr
) -> Expression:
    if not isinstance(first, Literal):
        raise unsupported("TIMESTAMPADD of an amount that is no constant", node)
    if second.type == STRING:
        second = types.converted(second, TIMESTAMP)
    if second.type == DATE and unit in _OF_TIME:
        second = types.converted(second, TIMESTAMP)
    if first.value is None:
        return Literal(None, second.type)
    if first.type.name not in WHOLE:
        raise wrong(f"{name} got {first.type}", node, hint="Pass a whole number.")
    amount = first.value * (MONTHS.get(unit) or MILLIS.get(unit) or 7 * MILLIS["DAY"])
    return shifted(second, amount, node, counts_months=unit in MONTHS)
