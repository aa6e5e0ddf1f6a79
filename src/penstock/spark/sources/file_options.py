"""Options of Spark's readers. With Spark's defaults damaged files would be read without an error.

| format | option | ours | effect of Spark's default |
|---|---|---|---|
| all | ignoreMissingFiles, ignoreCorruptFiles | false | leave out files, if the session is set so |
| csv, json | mode | FAILFAST | make None of a value that does not fit |
| csv, json | timeZone | UTC | read a time without a zone in that of the session |
| csv, json | columnNameOfCorruptRecord | a name no file has | refuse a number called `_corrupt_record` |
| csv | enforceSchema | false | ignore the header, and mix columns in another order |
| csv | escape | the quote | keep both quotes of a doubled one, and those around the value |
| csv | unescapedQuoteHandling | RAISE_ERROR | take a value up to the next delimiter, quotes and all |

Options of the source override these.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.connectors.files.file_source import FileSource

_LOUD = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_BOTH = {"mode": "FAILFAST", "timeZone": "UTC", "columnNameOfCorruptRecord": "\ue000 no column"}
_CSV = {"enforceSchema": "false", "unescapedQuoteHandling": "RAISE_ERROR"}
_DEFAULTS: Mapping[str, Mapping[str, str]] = {"json": _BOTH, "csv": _BOTH | _CSV}


def reader_options(source: FileSource) -> dict[str, str]:
    """Return the options of Spark's reader for the files of a source, in batch and live runs."""
    own = dict(source.options)
    lower_case = {name.lower(): value for name, value in own.items()}
    options = {**_LOUD, **_DEFAULTS.get(source.format, {})}
    quote = lower_case.get("quote", '"')
    if source.format == "csv" and quote:
        options["escape"] = quote
    return {name: v for name, v in options.items() if name.lower() not in lower_case} | own
