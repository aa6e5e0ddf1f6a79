"""The table of formats: their options, and what reads and writes messages of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.config.parse import BOOLEAN, STRING
from penstock.sql.scalar_binding.zone import zone_of_texts
from penstock.sql.tables.formats.csv_format import (
    CsvDecoder,
    CsvEncoder,
    RawDecoder,
    RawEncoder,
)
from penstock.sql.tables.formats.json_format import (
    DebeziumDecoder,
    DebeziumEncoder,
    JsonDecoder,
    JsonEncoder,
)
from penstock.sql.tables.formats.texts import Fields
from penstock.sql.tables.options import TableOption, TableOptions
from penstock.wire.text import CsvForm

_TIMESTAMPS = ("SQL", "ISO-8601")


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        name: As in the option `format`.
        summary: For docs/sql.md.
        options: Its options; their keys begin with its name.
        decoder: From columns and options to what reads a message.
        encoder: The same for what writes one.
        is_changelog: True if a message has any number of changes, and not one row.
    """

    name: str
    summary: str
    options: tuple[TableOption[Any], ...]
    decoder: Callable[[Fields, TableOptions], Callable[..., Any]]
    encoder: Callable[[Fields, TableOptions], Callable[..., Any]]
    is_changelog: bool = False


def _of_json(name: str) -> tuple[TableOption[Any], ...]:
    return (
        TableOption(
            f"{name}.ignore-parse-errors",
            BOOLEAN,
            "Read an unreadable value as NULL, and skip an unreadable message.",
            default=False,
        ),
        TableOption(
            f"{name}.timestamp-format.standard",
            STRING,
            "Form of written timestamps: a space or a T between date and time; both are read.",
            default="SQL",
            choices=_TIMESTAMPS,
        ),
    )


_JSON = _of_json("json")
_FAILS_ON_MISSING = TableOption(
    "json.fail-on-missing-field",
    BOOLEAN,
    "Refuse an object that lacks a column, instead of taking NULL.",
    default=False,
)
_DEBEZIUM = _of_json("debezium-json")
_DEBEZIUM_SCHEMA = TableOption(
    "debezium-json.schema-include",
    BOOLEAN,
    "Write the schema of Kafka Connect around messages; both forms are read.",
    default=False,
)
_CSV_TEXTS = {
    "csv.field-delimiter": ("delimiter", "Separator of fields.", ","),
    "csv.array-element-delimiter": ("array_delimiter", "Separator of elements of an ARRAY.", ";"),
    "csv.quote-character": ("quote", "Quote of fields that need one.", '"'),
    "csv.escape-character": ("escape", "Escape of one literal character.", None),
    "csv.null-literal": (
        "null_literal",
        "Text of NULL, without quotes; by default an empty field without quotes.",
        None,
    ),
}
_CSV: Mapping[str, TableOption[str]] = {
    key: TableOption(key, STRING, description, default=default)
    for key, (_, description, default) in _CSV_TEXTS.items()
}
_CSV_UNQUOTED = TableOption("csv.disable-quote-character", BOOLEAN, "Quote nothing.", default=False)
_CSV_COMMENTS = TableOption(
    "csv.allow-comments", BOOLEAN, "Skip lines that begin with #.", default=False
)
_CSV_SKIPS = TableOption(
    "csv.ignore-parse-errors",
    BOOLEAN,
    "Read an unreadable field as NULL, and skip an unreadable line.",
    default=False,
)
_RAW_CHARSET = TableOption("raw.charset", STRING, "Encoding of a STRING.", default="UTF-8")


def _is_iso(options: TableOptions, option: TableOption[str]) -> bool:
    return options.get(option) == _TIMESTAMPS[1]


def _json_decoder(fields: Fields, options: TableOptions) -> JsonDecoder:
    skips, fails = options.value(_JSON[0]), options.value(_FAILS_ON_MISSING)
    if skips and fails:
        raise options.wrong(
            f"has both {_JSON[0].key!r} and {_FAILS_ON_MISSING.key!r}", "Remove one of them."
        )
    return JsonDecoder(fields, skips_errors=skips, fails_on_missing=fails, zone=zone_of_texts())


def _debezium_decoder(fields: Fields, options: TableOptions) -> DebeziumDecoder:
    skips = options.value(_DEBEZIUM[0])
    rows = JsonDecoder(fields, skips_errors=skips, fails_on_missing=False, zone=zone_of_texts())
    return DebeziumDecoder(rows, skips_errors=skips)


def _csv_form(options: TableOptions) -> CsvForm:
    texts: dict[str, Any] = {
        name: options.get(_CSV[key]) for key, (name, _, _) in _CSV_TEXTS.items()
    }
    for key, (name, _, _) in _CSV_TEXTS.items():
        text = texts[name]
        if name in {"delimiter", "quote", "escape"} and text is not None and len(text) != 1:
            raise options.wrong(f"has {key!r} = {text!r}", "Write one character.")
    form = replace(CsvForm(), **texts, comments=options.value(_CSV_COMMENTS))
    return replace(form, quote=None) if options.get(_CSV_UNQUOTED) else form


def _raw_charset(fields: Fields, options: TableOptions) -> str | None:
    kinds = [kind.name for _, kind in fields]
    if kinds not in (["STRING"], ["BYTES"]):
        raise options.wrong(
            f"has the format 'raw' and the columns {', '.join(name for name, _ in fields)}",
            "The format raw has one column, a STRING or BYTES.",
        )
    if kinds == ["BYTES"]:
        return None
    charset = options.value(_RAW_CHARSET)
    try:
        "".encode(charset)
    except LookupError:
        raise options.wrong(
            f"has {_RAW_CHARSET.key!r} = {charset!r}", "Name a character set, such as UTF-8."
        ) from None
    return charset


FORMATS: Mapping[str, Format] = {
    text_format.name: text_format
    for text_format in (
        Format(
            "json",
            "an object per message or line",
            (*_JSON, _FAILS_ON_MISSING),
            _json_decoder,
            lambda fields, options: JsonEncoder(fields, is_iso=_is_iso(options, _JSON[1])),
        ),
        Format(
            "csv",
            "a line of fields, which are the columns in order",
            (*_CSV.values(), _CSV_UNQUOTED, _CSV_COMMENTS, _CSV_SKIPS),
            lambda fields, options: CsvDecoder(
                fields,
                _csv_form(options),
                skips_errors=options.value(_CSV_SKIPS),
                zone=zone_of_texts(),
            ),
            lambda fields, options: CsvEncoder(fields, _csv_form(options)),
        ),
        Format(
            "raw",
            "a message or line is the only column, a STRING or BYTES",
            (_RAW_CHARSET,),
            lambda fields, options: RawDecoder(_raw_charset(fields, options)),
            lambda fields, options: RawEncoder(_raw_charset(fields, options)),
        ),
        Format(
            "debezium-json",
            "a change of a row, with the row before and after it",
            (*_DEBEZIUM, _DEBEZIUM_SCHEMA),
            _debezium_decoder,
            lambda fields, options: DebeziumEncoder(fields, is_iso=_is_iso(options, _DEBEZIUM[1])),
            is_changelog=True,
        ),
    )
}
"""Name to format. Parquet is no format of messages: the connector of files has it."""
