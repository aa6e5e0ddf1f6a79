"""The table of texts: for each declared type one strict meaning in JSON and in a field of CSV.

Every reader and writer of text uses it, and texts that Spark reads are compared with it.
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
