"""The dialect of Flink SQL, on top of sqlglot's Presto: tokens, queries and expressions.

Syntax that Presto does not have, or reads in another way:

    `name` and 'text'; "…" is neither          TUMBLE(TABLE t PARTITION BY a, DESCRIPTOR(c), INTERVAL '1' HOUR)
    t /*+ OPTIONS('k' = 'v') */                SESSION(DATA => TABLE t, …)
    SELECT /*+ STATE_TTL('t' = '1d') */        INT NOT NULL, BYTES

A call is `exp.Anonymous` with name and arguments as they were written: sqlglot would make nodes of it whose arguments
are those of another dialect. `binding.calls` is the table of functions. Functions with a syntax of their own, such as
EXTRACT, have their nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.errors import SqlError
from penstock.sql.place import TextPlace
from penstock.sql.sqlglot_source import (
    Parser,
    Presto,
    PrestoParser,
    Token,
    TokenError,
    TokenType,
    exp,
)

_WITH_KEYWORDS = (
    *("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION", "CEIL", "FLOOR", "OVERLAY"),
)
"""Functions that have, or may have, keywords between their arguments."""

_NO_TYPES = frozenset({"MULTISET", "RAW", "VARIANT", "BITMAP", "STRUCTURED"})
"""Types of Flink that are not supported."""

_HINTS = "hints"
"""Key in `meta` of a table or of the hint of a SELECT."""


@dataclass(frozen=True, slots=True)
class Hint:
    """`NAME('key' = 'value', …)` or `NAME(a, b)` in a comment that begins with `+`.

    Attributes:
        name: In upper case, such as OPTIONS or STATE_TTL.
        arguments: Keys and values; the value of an argument without one is None.
    """

    name: str
    arguments: tuple[tuple[str, str | None], ...]
    place: TextPlace


E = TypeVar("E", bound=exp.Expr)


class TableArgument(exp.Expression):
    """`TABLE t [PARTITION BY a, b]` as an argument of a function."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition_by": False}


class FlinkParser(PrestoParser):
    """Reads queries and expressions."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: Parser.FUNCTION_PARSERS[name] for name in _WITH_KEYWORDS
    }
    FUNC_TOKENS: ClassVar[set[TokenType]] = PrestoParser.FUNC_TOKENS | {TokenType.SESSION}
    TABLE_POSTFIX_TOKENS = PrestoParser.TABLE_POSTFIX_TOKENS | {TokenType.HINT}

    file: str | None = None
    """Name of the file of the text, for places."""

    def _place(self, token: Token | None = None) -> TextPlace:
        """Return where a token begins; without one where the reader is."""
        token = token or self._curr
        if token:
            place = place_of_token(token)
        else:
            place = (
                TextPlace(self._prev.line, self._prev.col + 1) if self._prev else TextPlace(1, 1)
            )
        return TextPlace(place.line, place.column, self.file)

    def expression(self, instance: E, *args: Any, **options: Any) -> E:
        """Return a node with its place in the text, which sqlglot adds to names only."""
        if "line" not in instance.meta and self._prev:
            instance.update_positions(self._prev)
        return super().expression(instance, *args, **options)

    def _parse_types(self, *args: Any, **options: Any) -> exp.Expr | None:
        name = self._curr.text.upper()
        if name in _NO_TYPES and self._next.text in {"<", "("}:
            raise SqlError(
                f"the type {name} is not supported ({self._place()})",
                hint="Use one of the types of docs/sql.md.",
            )
        node = super()._parse_types(*args, **options)
        if isinstance(node, exp.DataType) and self._match_text_seq("NOT", "NULL"):
            node.set("nullable", False)  # noqa: FBT003 - sqlglot's form
        return node

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:  # noqa: FBT001, FBT002 - sqlglot's
        if self._next.token_type is TokenType.FARROW:
            name = exp.var(self._curr.text.upper())
            self._advance(2)
            return self.expression(exp.Kwarg(this=name, expression=self._parse_lambda()))
        is_table = self._curr.token_type is TokenType.TABLE
        if is_table and self._next.token_type is not TokenType.L_PAREN:
            return self._parse_table_argument()
        return super()._parse_lambda(alias=alias)

    def _parse_table_argument(self) -> exp.Expr:
        self._advance()
        table = self._parse_table_parts()
        columns = None
        if self._match(TokenType.PARTITION_BY):
            columns = [self._parse_column()]
            while self._curr.token_type is TokenType.COMMA and not self._next_is_argument():
                self._advance()
                columns.append(self._parse_column())
        return self.expression(TableArgument(this=table, partition_by=columns))

    def _next_is_argument(self) -> bool:
        """Return whether a call or `NAME =>` is behind the comma, and not a further column."""
        index = self._index
        self._advance()
        is_argument = self._next.token_type in {TokenType.L_PAREN, TokenType.FARROW}
        self._retreat(index)
        return is_argument

    def _parse_table_parts(self, *args: Any, **options: Any) -> exp.Table | exp.Dot | None:
        table = super()._parse_table_parts(*args, **options)
        if table is not None and self._match(TokenType.HINT):
            table.meta[_HINTS] = self._hints()
        return table

    def _hints(self) -> tuple[Hint, ...]:
        """Return the hints of the comment before the reader."""
        return tuple(_hints(self._prev, self._place(self._prev)))

    def _parse_hint(self) -> exp.Hint | None:
        if not self._match(TokenType.HINT):
            return None
        hint = exp.Hint(expressions=[])
        hint.meta[_HINTS] = self._hints()
        return hint


class Flink(Presto):
    """Flink SQL."""

    NULL_ORDERING = "nulls_are_small"

    class Tokenizer(Presto.Tokenizer):
        """Names are quoted with backticks. A comment that begins with `+` is a hint, wherever it stands."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]
        TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = set(TokenType)
        # sqlglot takes what follows such a word for one text.
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Presto.Tokenizer.KEYWORDS,
            "/*+": TokenType.HINT,
            "BYTES": TokenType.VARBINARY,
        }

    Parser = FlinkParser


def tokens_of(text: str, file: str | None = None) -> list[Token]:
    """Return the tokens of a text."""
    try:
        return Flink().tokenize(text)
    except TokenError as cause:
        start = _unclosed(text)
        line = text.count("\n", 0, start) + 1
        place = TextPlace(line, start - text.rfind("\n", 0, start), file)
        raise SqlError(
            f"the text or comment {text[start : start + 20]!r} has no end ({place})",
            hint="End texts with ', names with ` and comments with */.",
        ) from cause


_WHOLE = re.compile(r"'[^']*'|`[^`]*`|/\*.*?\*/|--[^\n]*|[^'`/-]+|[/-](?![*-])", re.DOTALL)


def _unclosed(text: str) -> int:
    """Return where the first text, name or comment begins that has no end."""
    end = 0
    while (match := _WHOLE.match(text, end)) is not None:
        end = match.end()
    return min(end, max(len(text) - 1, 0))


def place_of_token(token: Token) -> TextPlace:
    """Return where a token begins."""
    return TextPlace(token.line, token.col - (token.end - token.start))


def hints_of(node: exp.Expr) -> tuple[Hint, ...]:
    """Return the hints of a table or of a SELECT, in order."""
    holder = node.args.get("hint") if isinstance(node, exp.Select) else node
    hints: tuple[Hint, ...] = () if holder is None else holder.meta.get(_HINTS, ())
    return hints


def _hints(token: Token, place: TextPlace) -> Iterator[Hint]:
    """Yield the hints in a comment."""
    texts = [word.text for word in tokens_of(token.comments[0])]
    while texts:
        name, opened, *_ = [*texts, "", ""]
        if opened != "(" or ")" not in texts:
            raise SqlError(
                f"the hint {token.text} cannot be read ({place})",
                hint="Write /*+ OPTIONS('key' = 'value') */ or /*+ STATE_TTL('table' = '1d') */.",
            )
        end = texts.index(")")
        yield Hint(name.upper(), tuple(_arguments(texts[2:end])), place)
        del texts[: end + 2 if texts[end + 1 : end + 2] == [","] else end + 1]


def _arguments(texts: list[str]) -> Iterator[tuple[str, str | None]]:
    while texts:
        key, equals, value, *_ = [*texts, "", "", ""]
        has_value = equals == "="
        yield key, value if has_value else None
        del texts[: 4 if has_value else 2]


def options_of(hints: tuple[Hint, ...]) -> tuple[tuple[str, str], ...]:
    """Return the options of the hints of a table, which are all `OPTIONS`."""
    for hint in hints:
        if hint.name != "OPTIONS":
            raise SqlError(
                f"the hint {hint.name} of a table is not supported ({hint.place})",
                hint="Remove it: a table takes OPTIONS.",
            )
    pairs = [pair for hint in hints for pair in hint.arguments]
    keys = [key for key, _ in pairs]
    for key, value in pairs:
        if keys.count(key) > 1:
            raise SqlError(
                f"the hint OPTIONS has {key!r} twice ({hints[0].place})",
                hint="Remove one of them.",
            )
        if value is None:
            raise SqlError(
                f"the hint OPTIONS has {key!r} without a value ({hints[0].place})",
                hint="Write OPTIONS('key' = 'value').",
            )
    return tuple((key, value or "") for key, value in pairs)
