"""The programs of the pages about PyFlink and Bytewax print what the pages show.

Structured Streaming needs a session: `tests/spark/test_from_structured_streaming.py`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from penstock.cli.port import ported
from tests.docs.bytewax_stand_in import modules
from tests.docs.pairs import Pair, pairs
from tools.site.outputs import printed

BYTEWAX = pairs("from-bytewax.md", "Bytewax")
PYFLINK = pairs("port.md", "PyFlink")


def test_there_are_three_programs_of_each() -> None:
    assert len(BYTEWAX) == len(PYFLINK) == 3


@pytest.mark.parametrize("pair", [*BYTEWAX, *PYFLINK], ids=lambda pair: pair.title)
def test_ours_prints_what_is_shown(pair: Pair) -> None:
    assert sorted(printed(pair.ours, "page").splitlines()) == pair.shown


@pytest.mark.parametrize("pair", BYTEWAX, ids=lambda pair: pair.title)
def test_that_of_bytewax_prints_the_same(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec("bytewax") is None:
        for name, module in modules().items():
            monkeypatch.setitem(sys.modules, name, module)
    scope: dict[str, object] = {}
    exec(compile(pair.theirs, "from-bytewax.md", "exec"), scope)  # noqa: S102 - our own documentation
    import_module("bytewax.testing").run_main(scope["flow"])
    assert sorted(capsys.readouterr().out.splitlines()) == pair.shown


@pytest.mark.parametrize("pair", PYFLINK, ids=lambda pair: pair.title)
def test_that_of_pyflink_becomes_ours_by_the_command(pair: Pair) -> None:
    program = ported("job.py", pair.theirs)
    assert program.after == pair.ours
    assert not program.needs_a_hand
