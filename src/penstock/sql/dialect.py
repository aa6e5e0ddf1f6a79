"""The dialect of Flink SQL, on top of sqlglot's Presto."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.presto import Presto
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.presto import PrestoParser
from sqlglot.tokenizer_core import TokenType

from penstock.errors import SqlError
from penstock.sql.place import TextPlace


class FlinkParser(PrestoParser):
    """Calls stay calls: `exp.Anonymous` with a name and arguments, as they were written.

    sqlglot would make nodes of them whose arguments are those of another dialect. `binding.calls` is the
    table of functions. Functions with a syntax of their own, such as EXTRACT, have their nodes.
    """

    FUNCTIONS: ClassVar[dict[str, Any]] = {}


class Flink(Presto):
    """Flink SQL."""

    class Tokenizer(Presto.Tokenizer):
        """Names are quoted with backticks."""

        IDENTIFIERS: ClassVar[list[str]] = ["`"]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Presto.Tokenizer.KEYWORDS,
            "BYTES": TokenType.VARBINARY,
        }

    Parser = FlinkParser


def parse_query(text: str) -> exp.Query:
    """Return the tree of a query.

    Raises:
        SqlError: The text is no query.
    """
    try:
        parsed = Flink().parse(text, error_level=ErrorLevel.IMMEDIATE)
    except (ParseError, TokenError) as failed:
        raise SqlError.here(
            f"the text is no SQL: {_said(failed)}", hint="Correct the statement."
        ) from failed
    found = [each for each in parsed if each is not None]
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        is_one = len(found) == 1
        what = f"{text[:120]!r} is no query" if is_one else f"{len(found)} statements are no query"
        raise SqlError.here(what, hint="Pass one SELECT.")
    return found[0]


def _said(failed: ParseError | TokenError) -> str:
    for each in getattr(failed, "errors", ()):
        place = TextPlace(each["line"], each["col"])
        return f"{each['description']} at {each['highlight']!r} ({place})"
    return str(failed)
