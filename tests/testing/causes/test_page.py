"""The page of causes has a heading per cause, whose program has the cause before and not after."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.testing.causes import CauseKind, find_causes
from penstock.testing.causes.cause import PAGE

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
SECTIONS = {
    title: block
    for title, block in re.findall(
        r"^## ([^\n]+)\n.*?^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE
    )
}


def test_the_page_has_all_causes_and_no_others():
    assert list(SECTIONS) == [kind.title[0].upper() + kind.title[1:] for kind in CauseKind]
    assert [kind.page for kind in CauseKind][:2] == [
        f"{PAGE}#reads-the-clock",
        f"{PAGE}#a-random-number",
    ]


@pytest.mark.parametrize("kind", CauseKind)
def test_a_program_has_the_cause_before_and_not_after(kind: CauseKind) -> None:
    program = SECTIONS[kind.title[0].upper() + kind.title[1:]]
    name = f"/page/{kind.code}.py"
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    names: dict[str, Any] = vars(ModuleType("page"))
    exec(compile(program, name, "exec"), names)  # noqa: S102 - our own documentation
    causes = find_causes(names["env"].plan().graph)
    assert {(cause.operator, cause.code) for cause in causes} == {("before", kind.code)}
