"""Parser of the parts of statements: names, texts, options, expressions, and errors with their place.

sqlglot reads many dialects, so a tree may have parts that are no Flink SQL, such as `SELECT * EXCEPT (a)`, or that are
not translated, such as `FETCH FIRST 3 ROWS WITH TIES`. `PARTS` lists the parts of each construct that the translation
reads; all others are refused, not ignored. Constructs that it does not list are refused where they are bound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from penstock.errors import SqlError
from penstock.sql.dialect import Flink, FlinkParser, TableArgument, tokens_of
from penstock.sql.place import TextPlace, unsupported, wrong_at
from penstock.sql.sqlglot_source import ParseError, Token, TokenType, exp
from penstock.sql.statements import Name

_BOTH = frozenset({"this", "expression"})
_ONE = frozenset({"this"})
_LIST = frozenset({"expressions"})
_NAMED = frozenset({"this", "alias"})
_QUERY = frozenset({"with_", "order", "limit", "offset"})
_SET = _QUERY | {"this", "expression", "distinct"}
_OPERATORS = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.And, exp.Or, exp.Dot, exp.Escape),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is),
    *(exp.Extract, exp.Filter, exp.Kwarg, exp.IntervalSpan),
)
_WRAPPERS = (exp.Paren, exp.Neg, exp.Not, exp.From, exp.Where, exp.Having, exp.HexString, exp.Var)

PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(_OPERATORS, _BOTH),
    **dict.fromkeys(_WRAPPERS, _ONE),
    **dict.fromkeys((exp.Array, exp.Tuple, exp.GroupingSets, exp.Rollup, exp.Cube), _LIST),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _SET),
    exp.Alias: _NAMED,
    exp.Anonymous: _ONE | _LIST,
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.Boolean: _ONE,
    exp.Bracket: _ONE | _LIST,
    exp.CTE: _NAMED,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.Ceil: frozenset({"this", "to"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.ColumnDef: frozenset({"this", "kind"}),
    exp.DataType: frozenset({"this", "expressions", "nested", "kind", "nullable"}),
    exp.DataTypeParam: _ONE,
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Exists: _ONE,
    exp.Fetch: frozenset({"count", "direction", "limit_options"}),
    exp.Floor: frozenset({"this", "to"}),
    exp.Group: _LIST,
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.Lateral: _NAMED,
    exp.Like: _BOTH | {"negate"},
    exp.Limit: frozenset({"expression", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
    exp.Offset: frozenset({"expression"}),
    exp.Order: _LIST,
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Select: _QUERY
    | {"expressions", "hint", "distinct", "from_", "joins", "where", "group", "having", "windows"},
    exp.Star: frozenset(),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Subquery: frozenset({"this", "alias", "order", "limit", "offset"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Table: frozenset({"this", "alias", "db", "catalog", "version"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.TryCast: frozenset({"this", "to"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset"}),
    exp.Values: frozenset({"expressions", "alias", "order", "limit", "offset"}),
    exp.Version: frozenset({"this", "kind", "expression"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.With: frozenset({"expressions", "recursive"}),
    TableArgument: frozenset({"this", "partition_by"}),
}
"""Class of a node to the arguments of it that are translated."""

OF_DIALECT: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Array: frozenset({"value_constructor", "bracket_notation"}),
    exp.DPipe: frozenset({"safe"}),
    exp.Div: frozenset({"typed", "safe"}),
    exp.TryCast: frozenset({"safe"}),
    exp.Window: frozenset({"over"}),
}
"""Arguments that sqlglot sets by itself, without a text of the user."""

_EXPLICIT: frozenset[tuple[type[exp.Expr], str]] = frozenset(
    {(exp.CTE, "materialized"), (exp.Group, "all")}
)
"""Arguments that are False where a word was written, and None where none was."""

_NAMES: Mapping[tuple[type[exp.Expr], str], str] = {
    (exp.CTE, "materialized"): "MATERIALIZED of WITH",
    (exp.Cast, "format"): "FORMAT of CAST",
    (exp.Ceil, "decimals"): "a second argument of CEIL",
    (exp.Floor, "decimals"): "a second argument of FLOOR",
    (exp.Group, "all"): "ALL or DISTINCT of GROUP BY",
    (exp.Group, "rollup"): "WITH ROLLUP",
    (exp.Group, "cube"): "WITH CUBE",
    (exp.Join, "pivots"): "PIVOT",
    (exp.Limit, "expressions"): "LIMIT … BY",
    (exp.Limit, "this"): "LIMIT in the arguments of a function",
    (exp.LimitOptions, "percent"): "FETCH of PERCENT",
    (exp.LimitOptions, "with_ties"): "WITH TIES",
    (exp.Order, "this"): "ORDER BY in the arguments of a function",
    (exp.Select, "cluster"): "CLUSTER BY",
    (exp.Select, "connect"): "CONNECT BY",
    (exp.Select, "distribute"): "DISTRIBUTE BY",
    (exp.Select, "into"): "SELECT INTO",
    (exp.Select, "kind"): "SELECT AS",
    (exp.Select, "laterals"): "LATERAL VIEW",
    (exp.Select, "locks"): "FOR UPDATE",
    (exp.Select, "match"): "MATCH_RECOGNIZE",
    (exp.Select, "sort"): "SORT BY",
    (exp.Star, "except_"): "EXCEPT or EXCLUDE behind *",
    (exp.Star, "rename"): "RENAME behind *",
    (exp.Star, "replace"): "REPLACE behind *",
    (exp.Subquery, "pivots"): "PIVOT",
    (exp.Subquery, "sample"): "TABLESAMPLE",
    (exp.Table, "hints"): "WITH (…) behind a table",
    (exp.Table, "joins"): "a join in a join or in parentheses",
    (exp.Table, "ordinality"): "WITH ORDINALITY behind a table",
    (exp.Table, "pivots"): "PIVOT",
    (exp.Table, "sample"): "TABLESAMPLE",
    (exp.WindowSpec, "exclude"): "EXCLUDE of a frame",
}
"""Arguments whose names in sqlglot are not those of SQL."""


def check_parts(query: exp.Expr) -> None:
    """Refuse a query that has a part which the translation does not read."""
    for node in query.walk():
        kind = type(node)
        parts = PARTS.get(kind)
        if parts is None:
            continue  # refused where it is bound
        for name, value in node.args.items():
            if name not in parts and _is_written(kind, name, value) and not _is_joined(node, name):
                raise unsupported(construct_of(kind, name), _first_node(value) or node)


def construct_of(kind: type[exp.Expr], name: str) -> str:
    """Return the name of a part of a construct in SQL."""
    words = name.strip("_").upper().replace("_", " ")
    return _NAMES.get((kind, name), f"{words} of {kind.__name__.upper()}")


def _is_written(kind: type[exp.Expr], name: str, value: Any) -> bool:
    if (kind, name) in _EXPLICIT:
        return value is not None
    return bool(value) and name not in OF_DIALECT.get(kind, ())


def _is_joined(node: exp.Expr, name: str) -> bool:
    """Return whether it is the joins of the first table of FROM, which `FromClause` reads."""
    return name == "joins" and isinstance(node, exp.Table) and isinstance(node.parent, exp.From)


def _first_node(value: Any) -> exp.Expr | None:
    node = value[0] if isinstance(value, list) else value
    return node if isinstance(node, exp.Expr) else None


BEGIN_QUERY = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN})
"""The tokens with which a query can begin."""

N = TypeVar("N", bound=exp.Expr)


class TextParser(FlinkParser):
    """Reads a text from its begin."""

    def __init__(self, text: str, file: str | None) -> None:
        super().__init__(dialect=Flink())
        self.file = file
        self.sql = text
        self._chunks = [tokens_of(text, file)]
        self._advance_chunk()

    def _options(self) -> tuple[tuple[str, str], ...]:
        self._expect("(")
        options: list[tuple[str, str]] = []
        while not self._words(")"):
            key = self._text()
            self._expect("=")
            options.append((key, self._text()))
            if not self._words(",") and self._curr.text != ")":
                raise self._fail("a comma or )")
        return tuple(options)

    def _names(self) -> tuple[str, ...]:
        self._expect("(")
        names = [self._identifier()]
        while self._words(","):
            place = self._place()
            names.append(self._identifier())
            if names[-1] in names[:-1]:
                raise wrong_at(
                    f"the name {names[-1]!r} is there twice", place, hint="Remove one of them."
                )
        self._expect(")")
        return tuple(names)

    def _name(self) -> Name:
        parts = [self._identifier()]
        while self._match(TokenType.DOT):
            parts.append(self._identifier())
        return tuple(parts)

    def _identifier(self) -> str:
        is_text = self._curr.token_type is TokenType.STRING
        identifier = None if is_text else self._parse_id_var()
        if identifier is None:
            raise self._fail("a name")
        return identifier.name

    def _text(self) -> str:
        if not self._match(TokenType.STRING):
            raise self._fail("a text in single quotes")
        return self._prev.text

    def _scalar(self) -> exp.Expr:
        scalar = self._parse_disjunction()
        if scalar is None:
            raise self._fail("an expression")
        return self._placed(scalar)

    def _comment(self) -> None:
        if self._words("COMMENT"):
            self._text()

    # Words and errors

    def _words(self, *words: str) -> bool:
        """Move behind words if they are what comes. A token may have several, such as PRIMARY KEY."""
        index, left = self._index, " ".join(words)
        while left:
            text = " ".join(self._curr.text.upper().split())
            is_name = self._curr.token_type in {TokenType.IDENTIFIER, TokenType.STRING}
            if not text or is_name or not f"{left} ".startswith(f"{text} "):
                self._retreat(index)
                return False
            left = left[len(text) + 1 :]
            self._advance()
        return True

    def _expect(self, word: str) -> None:
        if not self._words(word):
            raise self._fail(word)

    def _query(self) -> exp.Query:
        if self._curr.token_type not in BEGIN_QUERY:
            raise self._fail("a query")
        query = self._parse_ddl_select()
        self._no_clause_behind()
        if isinstance(query, exp.Values):
            limits = {key: query.args.pop(key, None) for key in ("order", "limit", "offset")}
            query = exp.select("*").from_(query, copy=False)
            for key, part in limits.items():
                query.set(key, part)
        if not isinstance(query, exp.Query):
            raise self._fail("a query")
        if any(not select.expressions for select in query.find_all(exp.Select)):
            raise self._fail("columns of SELECT", None if self._curr else self._prev)
        self._placed(query)
        check_parts(query)
        return query

    def _no_clause_behind(self) -> None:
        """Refuse what sqlglot has read as an alias, and is the first word of a clause."""
        word = self._prev.text.upper() if self._prev and self._curr else ""
        is_name = self._prev is not None and self._prev.token_type is TokenType.IDENTIFIER
        if word in _CLAUSES and not is_name and self._curr.text not in {";", ")", ","}:
            raise self._unsupported(word, self._place(self._prev))

    def _end_of_statement(self) -> None:
        if self._curr and not self._match(TokenType.SEMICOLON):
            raise self._fail("the end of the statement")

    def _placed(self, node: N) -> N:
        """Return a tree with the name of the file wherever it has a position."""
        if self.file is not None:
            for part in node.walk():
                if "line" in part.meta:
                    part.meta["file"] = self.file
        return node

    def _unsupported(self, construct: str, place: TextPlace, hint: str | None = None) -> SqlError:
        return wrong_at(
            f"{construct} is not supported",
            place,
            hint=hint or "Write it without: docs/sql.md lists the supported SQL.",
        )

    def _fail(self, expected: str, token: Token | None = None) -> SqlError:
        token = token or self._curr
        raise wrong_at(
            f"expected {expected} instead of {_shown(token)}",
            self._place(token),
            hint=_ADVICE.get(token.text, _GENERAL_ADVICE),
        )

    def _unread(self, cause: ParseError) -> SqlError:
        """Return our error for one of sqlglot."""
        error = cause.errors[0]
        text = error["highlight"]
        place = TextPlace(error["line"], error["col"] - max(len(text) - 1, 0), self.file)
        missing = _MISSING.match(error["description"])
        problem = error["description"].partition(" but got <Token")[0]
        if missing:
            problem = f"{missing[1].upper()} is not complete"
        return wrong_at(
            f"{problem}, before or at {_shown_text(text)}",
            place,
            hint=_ADVICE.get(text, _GENERAL_ADVICE),
        )


def _shown(token: Token) -> str:
    return _shown_text(token.text) if token else "the end of the text"


def _shown_text(text: str) -> str:
    return f"{text!r}" if text else "the end of the text"


_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*\.(\w+)'>")

_CLAUSES = frozenset(
    {"FORMAT", "KEEP", "MINUS", "PREWHERE", "QUALIFY", "SETTINGS", "TOP", "USE", "WITHIN", "MATCH"}
)
"""First words of clauses that sqlglot's Presto does not have."""

_ADVICE = {
    '"': "Write names in backticks and texts in single quotes.",
}
"""Token to what was probably meant."""

_GENERAL_ADVICE = "Correct the statement; names that are words of SQL are written in backticks."
