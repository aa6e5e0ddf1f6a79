"""A test file that reproduces a difference."""

from __future__ import annotations

import datetime  # noqa: ICN001 - the name in texts of records
import decimal
import math
from collections.abc import Iterator, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

from penstock.errors import ArgumentError
from penstock.testing.law.samples import Sample, SampleRecord
from penstock.testing.law.verdict import Disagreement
from penstock.testing.results import same_answer
from penstock.types import Instant
from penstock.types.row import Row

_NAMES: Mapping[str, Any] = {
    "Row": Row,
    "Instant": Instant,
    "SampleRecord": SampleRecord,
    "datetime": datetime,
    "Decimal": decimal.Decimal,
    "inf": math.inf,
    "nan": math.nan,
}
_IMPORTS: Mapping[str, str] = {
    "datetime.": "import datetime",
    "Decimal(": "from decimal import Decimal",
    "Instant(": "from penstock.common import Instant",
    "Row(": "from penstock.common import Row",
    "inf": "from math import inf",
    "nan": "from math import nan",
}


def text_of_test(script: Path, file: Path, arguments: Sequence[str], found: Disagreement) -> str:
    """Return the text of a file of pytest that fails as long as two ways give two answers."""
    inputs = "".join(f"            {name!r}: {text},\n" for name, text in _inputs(found.inputs))
    imports = [line for mark, line in _IMPORTS.items() if mark in inputs]
    marked = ["SampleRecord"] if "SampleRecord(" in inputs else []
    names = ", ".join(sorted(["Way", "WayMode", "check_script", *marked]))
    heading = f'"""Checks that {script.name} gives one answer; `penstock check` found two."""'
    return "\n".join(
        [
            heading,
            "",
            *sorted([*imports, "from pathlib import Path"]),
            "",
            f"from penstock.testing import {names}",
            "",
            "",
            f"def test_{_identifier(script.stem)}_gives_one_answer():",
            "    check_script(",
            f"        Path(__file__).parent / {relpath(script, file.parent)!r},",
            *([f"        {list(arguments)!r},"] if arguments else []),
            "        inputs={",
            f"{inputs}        }},",
            f"        ways=[{found.first!r}, {found.second!r}],",
            "    )",
            "",
        ]
    )


def _inputs(inputs: Mapping[str, Sample]) -> Iterator[tuple[str, str]]:
    for name, sample in inputs.items():
        is_plain = all(each.split == 0 and each.timestamp is None for each in sample)
        values = [each.value for each in sample] if is_plain else list(sample)
        text = f"[{', '.join(map(repr, values))}]"
        try:
            is_same = same_answer(eval(text, dict(_NAMES)), values)  # noqa: S307 - text that is made here
        except Exception:  # noqa: BLE001 - the text of an object of the user
            is_same = False
        if not is_same:
            raise ArgumentError(
                f"records of source {name!r} have no text that Python reads: {text[:200]}",
                hint="Use rows, tuples and plain values as records, or write the test by hand with check_script.",
            )
        yield name, text


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).lower()
