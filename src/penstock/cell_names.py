"""Names of the cells of a notebook, in place of those of their temporary files."""

from __future__ import annotations

import re
import sys

_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)|(\S+):(\d+)(?= in )')


def with_names_of_cells(text: str) -> str:
    """Return text in which the number of a cell replaces its temporary file name.

    It imports IPython, because only IPython calls it.
    """
    notebook = sys.modules.get("IPython")
    shell = None if notebook is None else notebook.get_ipython()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)

    def named(place: re.Match[str]) -> str:
        cell = None if name_of is None else name_of(place[1] or place[3])
        return place[0] if cell is None else f"{' '.join(cell)}, line {place[2] or place[4]}"

    return _PLACE.sub(named, text)
