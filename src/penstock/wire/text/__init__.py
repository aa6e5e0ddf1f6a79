"""The table of texts: for each declared type one strict meaning in JSON and in a field of CSV.

Every door that reads or writes text asks it, and what Spark reads is compared with it.
"""

from penstock.wire.text.csv_codec import CsvCodec, CsvLines, csv_codec, csv_lines
from penstock.wire.text.json_codec import JsonCodec, json_codec, of_json
from penstock.wire.text.json_tree import JsonNumber, parse_json
from penstock.wire.text.scalars import CsvForm, TextError, TextRules, shown, text_of

__all__ = [
    "CsvCodec",
    "CsvForm",
    "CsvLines",
    "JsonCodec",
    "JsonNumber",
    "TextError",
    "TextRules",
    "csv_codec",
    "csv_lines",
    "json_codec",
    "of_json",
    "parse_json",
    "shown",
    "text_of",
]
