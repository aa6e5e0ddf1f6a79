"""Sources that are read by lines, and the form of the lines.

    source ──line_form──▶ LineForm, or the reason why Spark's own reader reads it

Options of Spark's reader that lines do not have leave a source to Spark.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any
from urllib.parse import unquote

from penstock.config.parse import zone_named
from penstock.connectors.files.local_listing import SCHEME
from penstock.errors import ArgumentError
from penstock.types import RowTypeInfo
from penstock.types.column_forms import keeps_values_in_columns
from penstock.wire.text import CsvForm, TextError, TextRules, csv_lines, json_codec

_READ_BY_LINES = frozenset({"csv", "json", "text"})
_HARMLESS = frozenset(
    {"mode", "recursivefilelookup", "pathglobfilter", "modifiedafter", "modifiedbefore", "linesep"}
    | {"ignoremissingfiles", "ignorecorruptfiles", "basepath", "encoding", "charset"}
    | {
        "columnnameofcorruptrecord",
        "maxfilesize",
        "compression",
        "inferschema",
        "multiline",
        "timezone",
    }
)
_NO_PARTITIONS = 1 << 30
_OF_CSV = frozenset(
    {"sep", "delimiter", "quote", "escape", "header", "enforceschema", "nullvalue"}
    | {"unescapedquotehandling"}
)


@dataclass(frozen=True, slots=True)
class LineForm:
    """The form of the lines of a source.

    Attributes:
        format: `csv`, `json` or `text`.
        type_info: Type of the records; None for text.
        encoding: A Python name of the encoding, whose line ends are those of ASCII.
        csv: The syntax of CSV.
        header: True if the first line of a file of CSV has the names of the columns.
        skips_header: True if the header is not compared with the declared names.
        zone: Zone of a timestamp without one, where the type is a point in time.
        is_whole: True if files are read whole, because records may have several lines.
        depth: Number of names of the path of the source; directories below may be partitions.

    Example:
        >>> LineForm("text", None).encoding
        'utf-8'
    """

    format: str
    type_info: RowTypeInfo | None
    encoding: str = "utf-8"
    csv: CsvForm = field(default_factory=CsvForm)
    header: bool = False
    skips_header: bool = False
    zone: tzinfo = UTC
    is_whole: bool = False
    depth: int = 0

    @property
    def uncolumned_because(self) -> str | None:
        """Reason why no column of Spark holds all values of a field; None if columns hold the values of all."""
        if self.type_info is None:
            return "its lines have no columns"
        for name, kind in zip(self.type_info.field_names, self.type_info.field_types, strict=True):
            if not keeps_values_in_columns(kind):
                return f"a column of Spark does not hold all values of its field {name!r}, {kind!r}"
        return None


def names_of_path(path: str) -> list[str]:
    """Return the names in a path, without scheme and host."""
    return [name for name in SCHEME.sub("", path).split("/") if name]


def local_name(uri: str) -> str:
    """Return the name of the local file of a URI."""
    return unquote(SCHEME.sub("", uri))


def line_form(
    format_name: str, type_info: RowTypeInfo | None, options: Mapping[str, str], path: str = ""
) -> LineForm | str:
    """Return the form of the lines of a source, or the reason why Spark's reader reads it."""
    if format_name == "text":
        type_info = None
    given = {name.lower(): value for name, value in options.items()}
    encoding = _encoding(given.get("encoding", given.get("charset", "utf-8")))
    refused = _refused(format_name, type_info, given)
    if refused is not None or encoding is None:
        return refused or "its encoding has line ends of several bytes, or is not known"
    is_tree = given.get("recursivefilelookup", "").lower() == "true"
    depth = _NO_PARTITIONS if is_tree else len(names_of_path(path))
    is_whole = given.get("multiline", "").lower() == "true"
    zone = zone_named(given.get("timezone", "UTC"))
    form = LineForm(format_name, type_info, encoding, zone=zone, is_whole=is_whole, depth=depth)
    return _csv(form, given) if format_name == "csv" else form


def _refused(
    format_name: str, type_info: RowTypeInfo | None, given: Mapping[str, str]
) -> str | None:
    """Return why Spark's reader reads a source, None if lines do; without its encoding and quotes."""
    if format_name not in _READ_BY_LINES:
        return f"{format_name} files have no lines"
    if type_info is None and format_name != "text":
        return "its columns are inferred"
    known = _HARMLESS | (_OF_CSV if format_name == "csv" else frozenset())
    if given.get("multiline", "").lower() == "true":
        known -= {"linesep", "encoding", "charset"}
    other = given.keys() - known
    if other:
        return f"the option {min(other)} is Spark's"
    if given.get("mode", "FAILFAST").upper() != "FAILFAST":
        return f"the option mode is {given['mode']}"
    try:
        if type_info is not None:
            json_codec(type_info) if format_name == "json" else csv_lines(type_info)
    except ArgumentError as cause:
        return cause.problem
    return None


def record_reader(form: LineForm, type_info: RowTypeInfo) -> Callable[[str], Sequence[Any]]:
    """Return the function from a line to the values of its fields, which raises TextError."""
    rules = TextRules(zone=form.zone)
    if form.format == "json":
        return _object_reader(type_info, rules)
    return csv_lines(type_info, form.csv, rules).read


def _object_reader(type_info: RowTypeInfo, rules: TextRules) -> Callable[[str], Sequence[Any]]:
    codec = json_codec(type_info, rules)

    def read(line: str) -> Sequence[Any]:
        values = codec.read(line)
        if values is None:
            raise TextError("null is not an object")
        return values  # type: ignore[no-any-return]

    return read


def _csv(form: LineForm, given: Mapping[str, str]) -> LineForm | str:
    separator = given.get("sep", given.get("delimiter", ",")).replace("\\t", "\t")
    quote = given.get("quote", '"')
    if len(separator) != 1 or len(quote) > 1 or not (separator + quote).isascii():
        return "its separator or quote is not one character of ASCII"
    if given.get("escape", quote) != quote:
        return "quotes in it are escaped by another character"
    return replace(
        form,
        csv=CsvForm(separator, quote=quote or None, null_literal=given.get("nullvalue") or None),
        header=given.get("header", "false").lower() == "true",
        skips_header=given.get("enforceschema", "false").lower() == "true",
    )


def _encoding(name: str) -> str | None:
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return None
    return None if codec.startswith(("utf-16", "utf-32")) or "\n".encode(codec) != b"\n" else codec
