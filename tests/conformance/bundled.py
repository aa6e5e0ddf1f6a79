"""Where PyFlink's example programs are: a directory somebody names, or an installed wheel."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "PENSTOCK_PYFLINK_EXAMPLES"
"""Environment variable with the directory that holds `word_count.py`."""


def examples() -> Path | None:
    """Return the directory of the DataStream examples, None if there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    package = find_spec("pyflink")
    for root in package.submodule_search_locations or () if package else ():
        found = Path(root) / "examples" / "datastream"
        if found.is_dir():
            return found
    return None
