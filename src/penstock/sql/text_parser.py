"""Parts of statements: names, texts, options, expressions, and errors that say where something else stands."""

from __future__ import annotations

import re
from typing import TypeVar

from penstock.errors import SqlError
from penstock.sql.constructs import check_parts
from penstock.sql.dialect import Flink, FlinkParser, tokens_of
from penstock.sql.place import TextPlace, wrong_at
from penstock.sql.sqlglot_source import ParseError, Token, TokenType, exp
from penstock.sql.statements import Name

BEGIN_QUERY = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN})
"""The tokens with which a query can begin."""

N = TypeVar("N", bound=exp.Expr)


class TextParser(FlinkParser):
    """Reads a text from its begin.

    Args:
        text: The text.
        file: Its name, for places; None if it has none.
    """

    def __init__(self, text: str, file: str | None) -> None:
        super().__init__(dialect=Flink())
        self.file = file
        self.sql = text
        self._chunks = [tokens_of(text, file)]
        self._advance_chunk()

    def _options(self) -> tuple[tuple[str, str], ...]:
        self._expect("(")
        found: list[tuple[str, str]] = []
        while not self._words(")"):
            key = self._text()
            self._expect("=")
            found.append((key, self._text()))
            if not self._words(",") and self._curr.text != ")":
                raise self._fail("a comma or )")
        return tuple(found)

    def _names(self) -> tuple[str, ...]:
        self._expect("(")
        found = [self._identifier()]
        while self._words(","):
            place = self._place()
            found.append(self._identifier())
            if found[-1] in found[:-1]:
                raise wrong_at(
                    f"the name {found[-1]!r} is there twice", place, hint="Remove one of them."
                )
        self._expect(")")
        return tuple(found)

    def _name(self) -> Name:
        found = [self._identifier()]
        while self._match(TokenType.DOT):
            found.append(self._identifier())
        return tuple(found)

    def _identifier(self) -> str:
        is_text = self._curr.token_type is TokenType.STRING
        found = None if is_text else self._parse_id_var()
        if found is None:
            raise self._fail("a name")
        return found.name

    def _text(self) -> str:
        if not self._match(TokenType.STRING):
            raise self._fail("a text in single quotes")
        return self._prev.text

    def _scalar(self) -> exp.Expr:
        found = self._parse_disjunction()
        if found is None:
            raise self._fail("an expression")
        return self._placed(found)

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
        found = self._parse_ddl_select()
        self._no_clause_behind()
        if isinstance(found, exp.Values):
            limits = {key: found.args.pop(key, None) for key in ("order", "limit", "offset")}
            found = exp.select("*").from_(found, copy=False)
            for key, part in limits.items():
                found.set(key, part)
        if not isinstance(found, exp.Query):
            raise self._fail("a query")
        if any(not each.expressions for each in found.find_all(exp.Select)):
            raise self._fail("columns of SELECT", None if self._curr else self._prev)
        self._placed(found)
        check_parts(found)
        return found

    def _no_clause_behind(self) -> None:
        """Refuse what sqlglot has read as an alias, and is the first word of a clause.

        Raises:
            SqlError: There is such a word, and something behind it.
        """
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
            for each in node.walk():
                if "line" in each.meta:
                    each.meta["file"] = self.file
        return node

    def _unsupported(self, construct: str, place: TextPlace, hint: str | None = None) -> SqlError:
        return wrong_at(
            f"{construct} is not supported",
            place,
            hint=hint or "Write it without: docs/sql.md says what there is.",
        )

    def _fail(self, expected: str, token: Token | None = None) -> SqlError:
        found = token or self._curr
        raise wrong_at(
            f"expected {expected} instead of {_shown(found)}",
            self._place(found),
            hint=_ADVICE.get(found.text, _GENERAL_ADVICE),
        )

    def _unread(self, cause: ParseError) -> SqlError:
        """Return our error for one of sqlglot."""
        error = cause.errors[0]
        text = error["highlight"]
        place = TextPlace(error["line"], error["col"] - max(len(text) - 1, 0), self.file)
        missing = _MISSING.match(error["description"])
        said = error["description"].partition(" but got <Token")[0]
        if missing:
            said = f"{missing[1].upper()} is not complete"
        return wrong_at(
            f"{said}, before or at {_shown_text(text)}",
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
"""First words of clauses that sqlglot's Presto does not know."""

_ADVICE = {
    '"': "Write names in backticks and texts in single quotes.",
}
"""Token to what was probably meant."""

_GENERAL_ADVICE = "Correct the statement; names that are words of SQL are written in backticks."
