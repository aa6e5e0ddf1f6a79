"""The index of decision records: number, title and status of each, from its first lines.

python -m tools.site.decisions > docs/decisions/README.md
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

RECORDS = Path(__file__).parents[2] / "docs" / "decisions"
STATES = ("accepted", "superseded", "measurement")
_HEAD = re.compile(r"# (\d+)\. (.+)\n\n\*\*Status\*\*: (.+)\n")
_LINK = re.compile(r"\]\((\d{4})-[^)]+\)")
_INDEX = """\
# Decisions

A record has one decision: the question, the choice, its reasons and measurements, and what was rejected.
Records keep the state of their day; a later record that changes one is named in its status.

| Status | Meaning |
|---|---|
| accepted | It holds, apart from what the named records change |
| superseded | The named record replaces it |
| measurement | It reports what was measured, and decides nothing by itself |

| Number | Title | Status |
|---|---|---|
{rows}

{missing}
A new record takes the next number, and copies the form of the newest ones: status, context, decision, rejected.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """First lines of a decision record.

    Attributes:
        path: The file.
        number: As in the title.
        title: Without the number.
        status: The text of the line `Status`.
    """

    path: Path
    number: int
    title: str
    status: str

    @property
    def state(self) -> str:
        """First word of the status."""
        return re.split(r"\W", self.status)[0]

    @property
    def later(self) -> list[int]:
        """Later records that the status names."""
        named = sorted({int(number) for number in _LINK.findall(self.status)})
        return [number for number in named if number > self.number]


def records() -> list[Record]:
    """Return all records by number.

    Raises:
        ValueError: A record does not begin with its number, its title and its status.
    """
    found = []
    for path in sorted(RECORDS.glob("[0-9]*.md")):
        head = _HEAD.match(path.read_text(encoding="utf-8"))
        if head is None or int(head[1]) != int(path.name[:4]):
            raise ValueError(f"{path.name} does not begin with '# NUMBER. TITLE' and its status")
        found.append(Record(path, int(head[1]), head[2], head[3]))
    return found


def render_index(folder: str = "") -> str:
    """Return the index; links lead to files in `folder`."""
    found = records()
    names = {each.number: each.path.name for each in found}
    rows = []
    for each in found:
        links = ", ".join(f"[{number}]({folder}{names[number]})" for number in each.later)
        verb = "superseded by" if each.state == "superseded" else f"{each.state}, changed by"
        status = f"{verb} {links}" if links else each.state
        rows.append(f"| {each.number} | [{each.title}]({folder}{each.path.name}) | {status} |")
    unused = sorted(set(range(1, found[-1].number)) - names.keys())
    missing = (
        f"No record has the numbers {', '.join(map(str, unused))}; new records leave them unused.\n"
    )
    return _INDEX.format(rows="\n".join(rows), missing=missing if unused else "")


if __name__ == "__main__":
    sys.stdout.write(render_index())
