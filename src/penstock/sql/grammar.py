"""The statements of Flink SQL: from a script to the values of `statements.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.errors import SqlError
from penstock.sql.advice import KINDS, LIKE_OPTIONS, STATEMENTS
from penstock.sql.dialect import options_of, tokens_of
from penstock.sql.place import TextPlace, wrong_at
from penstock.sql.sqlglot_source import ParseError, TokenType, exp
from penstock.sql.statements import (
    ColumnDefinition,
    ColumnKind,
    CreateFunction,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Select,
    SetOption,
    Show,
    Statement,
    StatementSet,
    WatermarkDefinition,
)
from penstock.sql.text_parser import BEGIN_QUERY, TextParser
from penstock.sql.type_names import of_sqlglot
from penstock.types.sql_types import SqlType

_NO_DETAILS = frozenset({"ESTIMATED_COST", "JSON_EXECUTION_PLAN", "PLAN_ADVICE"})
"""Details of EXPLAIN that Flink has. CHANGELOG_MODE is always shown."""
_LIKE_WORDS = frozenset({"INCLUDING", "EXCLUDING", "OVERWRITING"})
_SHOWN = ("TABLES", "VIEWS", "FUNCTIONS")


def parse_script(text: str, file: str | None = None) -> tuple[Statement, ...]:
    """Return the statements of a script, which semicolons divide.

    Example:
        >>> [type(each).__name__ for each in parse_script("SET 'a' = 'b'; SELECT 1;")]
        ['SetOption', 'Select']
    """
    try:
        return StatementParser(text, file).script()
    except SqlError as error:
        if file is not None:
            raise
        # Raised below frames of sqlglot, which are not the user's.
        raise SqlError.here(error.problem, hint=error.hint) from error


def parse_query(text: str) -> exp.Query:
    """Return the tree of a text that is one query."""
    statements = parse_script(text)
    if len(statements) == 1 and isinstance(statements[0], Select):
        return statements[0].query
    is_one = len(statements) == 1
    what = f"{text[:120]!r} is no query" if is_one else f"{len(statements)} statements are no query"
    raise SqlError.here(what, hint="Pass one SELECT.")


def ends_statement(text: str) -> bool:
    """Return whether a text ends with a whole statement.

    Example:
        >>> ends_statement("SELECT ';"), ends_statement("SELECT 1;")
        (False, True)
        >>> begun = "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1;"
        >>> ends_statement(begun), ends_statement(f"{begun} END;")
        (False, True)
    """
    try:
        words = [token.text.upper() for token in tokens_of(text)]
    except SqlError:
        return False  # a text or a comment goes on
    if not words or words[-1] != ";":
        return False
    begins = [
        index for index in range(len(words) - 1) if words[index : index + 2] == ["STATEMENT", "SET"]
    ]
    return not begins or "END" in words[begins[-1] :]


def parse_type(text: str) -> SqlType:
    """Return the type that a text names.

    Example:
        >>> str(parse_type("ROW<a INT, b ARRAY<STRING>>"))
        'ROW<a INT, b ARRAY<STRING>>'
    """
    (table,) = parse_script(f"CREATE TABLE t (a {text})")
    assert isinstance(table, CreateTable), "the text is a CREATE TABLE"
    (column,) = table.columns
    assert column.type is not None, "it is not computed"
    return column.type


@dataclass(slots=True)
class _TableParts:
    """Parts between the parentheses of a CREATE TABLE."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    watermark: WatermarkDefinition | None = None


class StatementParser(TextParser):
    """Reads a script from its begin to its end."""

    def script(self) -> tuple[Statement, ...]:
        """Return the statements."""
        statements = []
        try:
            while self._curr:
                if not self._match(TokenType.SEMICOLON):
                    statements.append(self._statement())
                    self._end_of_statement()
        except ParseError as cause:
            raise self._unread(cause) from cause
        return tuple(statements)

    def _statement(self) -> Statement:
        place = self._place()
        if self._curr.token_type in BEGIN_QUERY:
            return Select(self._query(), place)
        for words, read in self._STATEMENTS.items():
            if self._words(*words.split()):
                return read(self, place)
        words = " ".join(token.text.upper() for token in (self._curr, self._next) if token)
        hint = STATEMENTS.get(self._curr.text.upper())
        raise self._unsupported(f"the statement {words}", place, hint)

    # CREATE and DROP

    def _create(self, place: TextPlace) -> Statement:
        self._begin = self._prev
        is_replacing = self._words("OR", "REPLACE")
        self._words("TEMPORARY")
        self._words("SYSTEM")
        kind = self._curr.text.upper()
        read = self._CREATED.get(kind)
        if read is None:
            raise self._unsupported(f"CREATE {kind}", place, KINDS.get(kind))
        self._advance()
        return read(self, place, is_replacing=is_replacing)

    def _create_table(self, place: TextPlace, *, is_replacing: bool) -> CreateTable:
        if is_replacing:
            raise self._unsupported("CREATE OR REPLACE TABLE", place, "DROP TABLE before it.")
        if_not_exists = self._words("IF", "NOT", "EXISTS")
        name, table = self._name(), _TableParts()
        if self._words("("):
            self._elements(table)
        self._comment()
        if self._words("DISTRIBUTED"):
            raise self._unsupported("DISTRIBUTED BY", place)
        partitioned_by = self._names() if self._words("PARTITIONED", "BY") else ()
        options = self._options() if self._words("WITH") else ()
        like = self._name() if self._words("LIKE") else None
        behind = self._curr.text.upper()
        if like is not None and (behind == "(" or behind in _LIKE_WORDS):
            raise self._unsupported("an option of LIKE", self._place(), LIKE_OPTIONS)
        if self._words("AS"):
            hint = "Declare the columns, then INSERT INTO the table."
            raise self._unsupported("CREATE TABLE … AS SELECT", place, hint)
        return CreateTable(
            name=name,
            columns=tuple(table.columns),
            primary_key=table.primary_key,
            watermark=table.watermark,
            options=options,
            if_not_exists=if_not_exists,
            partitioned_by=partitioned_by,
            place=place,
            like=like,
            text=self._find_sql(self._begin, self._prev),
        )

    def _elements(self, table: _TableParts) -> None:
        while True:
            place = self._place()
            if self._words("CONSTRAINT"):
                self._identifier()
            if self._words("PRIMARY", "KEY"):
                self._set_key(table, self._names(), place)
            elif self._words("WATERMARK", "FOR"):
                column = self._identifier()
                self._expect("AS")
                if table.watermark is not None:
                    raise self._twice("WATERMARK", place)
                table.watermark = WatermarkDefinition(column, self._scalar(), place)
            else:
                self._column(table, place)
            if not self._words(","):
                break
        self._expect(")")

    def _column(self, table: _TableParts, place: TextPlace) -> None:
        name = self._identifier()
        if self._words("AS"):
            column = ColumnDefinition(
                name, ColumnKind.COMPUTED, None, expression=self._scalar(), place=place
            )
        else:
            column = self._typed_column(name, place)
        if self._words("PRIMARY", "KEY"):
            self._set_key(table, (name,), place)
        self._comment()
        table.columns.append(column)

    def _typed_column(self, name: str, place: TextPlace) -> ColumnDefinition:
        kind = self._parse_types(schema=True, allow_identifiers=False)
        if not isinstance(kind, exp.DataType):
            raise self._fail("a type")
        self._words("NULL")
        is_metadata = self._words("METADATA")
        key = self._text() if is_metadata and self._words("FROM") else name
        return ColumnDefinition(
            name,
            ColumnKind.METADATA if is_metadata else ColumnKind.PHYSICAL,
            of_sqlglot(self._placed(kind)),
            metadata_key=key if is_metadata else None,
            is_virtual=is_metadata and self._words("VIRTUAL"),
            is_nullable=kind.args.get("nullable") is not False,
            place=place,
        )

    def _set_key(self, table: _TableParts, names: tuple[str, ...], place: TextPlace) -> None:
        if table.primary_key:
            raise self._twice("PRIMARY KEY", place)
        table.primary_key = names
        self._not_enforced(place)

    @staticmethod
    def _twice(what: str, place: TextPlace) -> SqlError:
        return wrong_at(f"the table has {what} twice", place, hint="Remove one of them.")

    def _not_enforced(self, place: TextPlace) -> None:
        if not self._words("NOT", "ENFORCED"):
            hint = (
                "Write NOT ENFORCED behind it: Penstock relies on the key, and does not check it."
            )
            raise self._unsupported("a PRIMARY KEY that is enforced", place, hint)

    def _create_view(self, place: TextPlace, *, is_replacing: bool) -> CreateView:
        if_not_exists = self._words("IF", "NOT", "EXISTS")
        name = self._name()
        columns = self._names() if self._curr.text == "(" else ()
        self._comment()
        self._expect("AS")
        return CreateView(name, columns, self._query(), is_replacing, if_not_exists, place)

    def _create_function(self, place: TextPlace, *, is_replacing: bool) -> CreateFunction:
        if_not_exists = self._words("IF", "NOT", "EXISTS")
        name = self._name()
        self._expect("AS")
        target = self._text()
        if self._words("LANGUAGE") and not self._words("PYTHON"):
            raise self._unsupported(
                f"LANGUAGE {self._curr.text.upper()}", place, "Write the function in Python."
            )
        if self._words("USING"):
            raise self._unsupported("USING JAR", place, "Write the function in Python.")
        return CreateFunction(name, target, is_replacing, if_not_exists, place)

    def _drop(self, place: TextPlace) -> Drop:
        self._words("TEMPORARY")
        self._words("SYSTEM")
        kind = self._curr.text.upper()
        if kind not in self._CREATED:
            raise self._unsupported(f"DROP {kind}", place, KINDS.get(kind))
        self._advance()
        if_exists = self._words("IF", "EXISTS")
        return Drop(kind, self._name(), if_exists, place)

    # INSERT and queries

    def _insert(self, place: TextPlace) -> Insert:
        if self._words("OVERWRITE"):
            raise self._unsupported("INSERT OVERWRITE", place, "Write INSERT INTO.")
        self._expect("INTO")
        target = self._name()
        options: tuple[tuple[str, str], ...] = ()
        if self._match(TokenType.HINT):
            options = options_of(self._hints())
        if self._words("PARTITION"):
            raise self._unsupported(
                "PARTITION of INSERT", place, "Select the columns of the partition."
            )
        is_list = self._curr.text == "(" and self._next.token_type not in BEGIN_QUERY
        columns = self._names() if is_list else ()
        return Insert(target, columns, self._query(), place, options)

    def _statement_set(self, place: TextPlace) -> StatementSet:
        self._words("BEGIN")
        self._match(TokenType.SEMICOLON)
        inserts = []
        while not self._words("END"):
            inner = self._place()
            self._expect("INSERT")
            inserts.append(self._insert(inner))
            if not self._match(TokenType.SEMICOLON):
                raise self._fail("a semicolon")
        if not inserts:
            raise self._fail("INSERT", self._prev)
        return StatementSet(tuple(inserts), place)

    def _execute(self, place: TextPlace) -> Statement:
        statement = self._statement()
        if not isinstance(statement, Insert | Select):
            raise self._unsupported(
                "EXECUTE of this statement", place, "EXECUTE is of INSERT and SELECT."
            )
        return statement

    # SET, EXPLAIN, SHOW

    def _set(self, place: TextPlace) -> SetOption:
        if not self._curr or self._curr.token_type is TokenType.SEMICOLON:
            return SetOption(None, None, place)
        key = self._text()
        self._expect("=")
        return SetOption(key, self._text(), place)

    def _reset(self, place: TextPlace) -> SetOption:
        if self._curr.token_type is not TokenType.STRING:
            raise self._unsupported("RESET of all options", place, "Write RESET 'key'.")
        return SetOption(self._text(), None, place)

    def _explain(self, place: TextPlace) -> Explain:
        if not self._words("PLAN", "FOR"):
            while self._words("CHANGELOG_MODE"):
                self._words(",")
            detail = self._curr.text.upper()
            if detail in _NO_DETAILS:
                raise self._unsupported(f"EXPLAIN {detail}", self._place(), "Write EXPLAIN alone.")
        if self._words("STATEMENT", "SET"):
            return Explain(self._statement_set(place), place)
        statement = self._statement()
        if not isinstance(statement, Select | Insert | StatementSet):
            raise self._unsupported(
                "EXPLAIN of this statement", place, "EXPLAIN is of SELECT and INSERT."
            )
        return Explain(statement, place)

    def _describe(self, place: TextPlace) -> Describe:
        begin = self._index
        if self._words("EXTENDED"):
            if self._curr and self._curr.token_type is not TokenType.SEMICOLON:
                raise self._unsupported(
                    "EXTENDED of DESCRIBE", place, "Write DESCRIBE and the name."
                )
            self._retreat(begin)
        return Describe(self._name(), place)

    def _show(self, place: TextPlace) -> Show:
        if self._words("CREATE"):
            kind = self._curr.text.upper()
            if kind not in {"TABLE", "VIEW"}:
                raise self._unsupported(f"SHOW CREATE {kind}", place)
            self._advance()
            return Show(f"CREATE {kind}", self._name(), place)
        self._words("USER")
        what = self._curr.text.upper()
        if what not in _SHOWN:
            raise self._unsupported(f"SHOW {what}", place, KINDS.get(what))
        self._advance()
        return Show(what, None, place)

    _STATEMENTS: ClassVar[Mapping[str, Callable[[Any, TextPlace], Statement]]] = {
        "CREATE": _create,
        "DROP": _drop,
        "INSERT": _insert,
        "EXECUTE STATEMENT SET": _statement_set,
        "EXECUTE": _execute,
        "BEGIN STATEMENT SET": _statement_set,
        "SET": _set,
        "RESET": _reset,
        "EXPLAIN": _explain,
        "DESCRIBE": _describe,
        "DESC": _describe,
        "SHOW": _show,
    }
    """The first words of a statement, to what reads the rest. Longer ones come first."""

    _CREATED: ClassVar[Mapping[str, Callable[..., Statement]]] = {
        "TABLE": _create_table,
        "VIEW": _create_view,
        "FUNCTION": _create_function,
    }
    """Kinds of objects that can be created and dropped."""
