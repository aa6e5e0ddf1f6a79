"""Declared columns that no file of a source has: they would be None in every record.

    type_info (id, amonut), files with id and amount  ──▶  "no file has the column 'amonut'; did you mean 'amount'?"

CSV with a header has an error of its own. Of JSON the beginning of files is looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from itertools import islice

import pyarrow as pa

from penstock.config.options import MISSING_COLUMNS
from penstock.errors import SourceError, did_you_mean
from penstock.spark.sources.file_columns import FileColumns
from penstock.spark.sources.file_paths import plain

_LOOKED_AT = 100
_logger = logging.getLogger("penstock")


def note_missing_columns(columns: FileColumns, uris: Iterable[str], action: str) -> None:
    """Warn of declared columns that no file has, or refuse them.

    Raises:
        SourceError: There is such a column, and the action is `error`.
    """
    declared = columns.source.type_info
    if action == "ignore" or declared is None:
        return
    missing, found = _missing(columns, uris, declared.field_names)
    if not missing or not found:
        return
    name = missing[0]
    others = tuple(each for each in found if each not in declared.field_names)
    problem = (
        f"no file of {columns.source.describe()} that was looked at has the column {name!r}, so it is None in every "
        f"record{did_you_mean(name, others)}"
    )
    if action == "error":
        hint = f"Correct its name, or leave it out of type_info; or set {MISSING_COLUMNS.key}=warn."
        raise SourceError(problem, hint=hint, origin=columns.origin)
    where = "" if columns.origin is None else f" ({columns.origin})"
    _logger.warning("%s%s; %s=error refuses it", problem, where, MISSING_COLUMNS.key)


def _missing(
    columns: FileColumns, uris: Iterable[str], declared: Collection[str]
) -> tuple[list[str], dict[str, None]]:
    """Return the declared names that no file has, and all names that were found."""
    missing, found = list(declared), dict[str, None]()
    for uri in islice(uris, _LOOKED_AT):
        try:
            names = columns.names_of(uri)
        except (OSError, pa.ArrowException):
            continue  # it is damaged: the reader raises the error
        if names is None:
            continue
        found |= dict.fromkeys(names)
        parts = (name.partition("=") for name in plain(uri).split("/"))
        known = {columns.compared(each) for each in [*names, *(n for n, mark, _ in parts if mark)]}
        missing = [name for name in missing if columns.compared(name) not in known]
        if not missing:
            break
    return missing, found
