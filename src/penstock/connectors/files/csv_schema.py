"""`CsvSchema`: the columns of CSV files, for `FileSource.for_record_stream_format`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.files.file_source import StreamFormat
from penstock.errors import ArgumentError
from penstock.types import RowTypeInfo, TypeInformation, Types


@dataclass(frozen=True, slots=True)
class CsvSchema:
    """Columns and syntax of CSV files.

    Attributes:
        columns: (name, type) in order.
        options: Options of Spark's reader.

    Example:
        >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("n").build()
        >>> schema.size()
        2
    """

    columns: tuple[tuple[str, TypeInformation], ...]
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Return a builder without columns."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return RowTypeInfo([kind for _, kind in self.columns], [name for name, _ in self.columns])


class CsvSchemaBuilder:
    """Builds a `CsvSchema`. Without `set_use_header` files have no header line.

    Example:
        >>> builder = CsvSchema.builder().add_string_column("name").set_column_separator(";")
        >>> builder.build().options["sep"]
        ';'
        >>> builder = CsvSchema.builder().add_number_column("n").add_boolean_column("paid")
        >>> builder = CsvSchema.builder().add_columns_from(builder.build())
        >>> builder = builder.add_string_column("note")
        >>> builder = builder.set_quote_char("'").set_escape_char("?").set_line_separator("|")
        >>> builder = builder.set_null_value("-").set_allow_comments().set_use_header()
        >>> builder = builder.set_skip_first_data_row(False)
        >>> builder.size(), builder.build().options["quote"], builder.build().options["nullValue"]
        (3, "'", '-')
        >>> builder.disable_quote_char().clear_columns().size()
        0
    """

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation]] = []
        self._options = {"header": "false", "mode": "FAILFAST"}

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of strings with the name `name`."""
        return self._add(name, Types.STRING())

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of booleans with the name `name`."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(
        self, name: str, number_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of numbers.

        Args:
            name: Its name.
            number_type: A type of `Types`; LONG by default.

        Raises:
            ArgumentError: It is no type.
        """
        return self._add(name, Types.LONG() if number_type is None else number_type)

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema, `schema`."""
        self._columns += schema.columns
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns."""
        self._columns.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the separator of fields to `char`."""
        return self._set("sep", char)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the quote character to `char`."""
        return self._set("quote", char)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Read quotes as text."""
        self._options["quote"] = ""
        return self

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the escape character, before characters meant literally, to `char`."""
        return self._set("escape", char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the line separator to `separator`."""
        return self._set("lineSep", separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for None to `null_value`."""
        return self._set("nullValue", null_value)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002 - PyFlink's
        """Skip lines that begin with `#`, if `allow`."""
        return self._set("comment", "#") if allow else self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002
        """Read the first line of each file as column names, if `use`."""
        return self._set("header", "true" if use else "false")

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002
        """Skip the first line of each file, whatever it contains, if `skip`."""
        self._set("enforceSchema", "true" if skip else "false")
        return self._set("header", "true" if skip else "false")

    def size(self) -> int:
        """Return the number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def build(self) -> CsvSchema:
        """Return the schema.

        Raises:
            ArgumentError: There are no columns.
        """
        if not self._columns:
            raise ArgumentError.here(
                "a CSV schema has no columns",
                hint="Add them with add_string_column, add_number_column and so on.",
            )
        return CsvSchema(tuple(self._columns), dict(self._options))

    def _add(self, name: str, kind: Any) -> CsvSchemaBuilder:
        if not isinstance(kind, TypeInformation):
            raise ArgumentError.here(
                f"column {name!r} has the type {kind!r}",
                hint="Pass a type of Types, for example Types.DOUBLE().",
            )
        self._columns.append((name, kind))
        return self

    def _set(self, option: str, value: str) -> CsvSchemaBuilder:
        self._options[option] = value
        return self


@dataclass(frozen=True, slots=True)
class CsvReaderFormat(StreamFormat):
    """The format of CSV files, read as rows.

    Example:
        >>> schema = CsvSchema.builder().add_string_column("name").build()
        >>> CsvReaderFormat.for_schema(schema).format
        'csv'
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return the format of files with the columns of `schema`."""
        return CsvReaderFormat("csv", schema.row_type, schema.options)
