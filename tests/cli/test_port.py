"""`penstock port`: imports are changed and nothing else, and what differs is told.

The programs of `examples/pyflink` are the corpus. `tests/cli/ported/NAME.txt` has what is said about each; the ones that
need no hand are run, and print what stands there.

    python -m tests.cli.test_port    writes these files
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.port import ABSENT, DIFFERS, NO_EFFECT, Weight, ported
from penstock.errors import ArgumentError
from tools.site.outputs import printed
from tools.support.listing import Status, listed_classes

CORPUS = sorted((Path(__file__).parents[2] / "examples" / "pyflink").glob("*.py"))
GOLDEN = Path(__file__).parent / "ported"
HEAD = "from pyflink.datastream import StreamExecutionEnvironment\n"
CHANGED = "from penstock.datastream import StreamExecutionEnvironment\n"


def said(path: Path) -> str:
    """Return what is said about a program, and what it prints after it was ported."""
    program = ported(path.name, path.read_text(encoding="utf-8"))
    lines = [f"{each.line}: {each.weight.value}: {each.text}\n" for each in program.remarks]
    if not program.needs_a_hand:
        script = program.after.replace('if __name__ == "__main__":', "if True:")
        lines += ["prints\n", *sorted(printed(script, path.name).splitlines(keepends=True))]
    return "".join(lines)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_program_of_the_corpus(path: Path) -> None:
    assert said(path) == (GOLDEN / f"{path.stem}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_only_the_name_of_the_package_changes(path: Path) -> None:
    program = ported(path.name, path.read_text(encoding="utf-8"))
    assert program.after != program.before
    assert program.after.replace("penstock", "pyflink") == program.before
    again = ported(path.name, program.after)
    assert again.after == program.after


def test_the_corpus_needs_hands_and_none() -> None:
    programs = [ported(path.name, path.read_text(encoding="utf-8")) for path in CORPUS]
    assert {each.needs_a_hand for each in programs} == {True, False}
    assert {each.weight for program in programs for each in program.remarks} == set(Weight)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import pyflink", "import penstock"),
        ("import os, pyflink.common as c", "import os, penstock.common as c"),
        ("from   pyflink.common import Types", "from   penstock.common import Types"),
        ("from pyflink.common.typeinfo import *", "from penstock.common.typeinfo import *"),
        ("s = 'ä'; import pyflink.common", "s = 'ä'; import penstock.common"),
        ("import pyflink.common\r\nx = 1\r\n", "import penstock.common\r\nx = 1\r\n"),
        ("\x0cimport pyflink.common\n", "\x0cimport penstock.common\n"),
        ("import pyflink.common\npyflink.common.Row(1)", "import penstock.common\npenstock.common.Row(1)"),
        ("import pyflinks\nfrom .pyflink import x\n", "import pyflinks\nfrom .pyflink import x\n"),
        ("words = ['pyflink']  # from pyflink\n", "words = ['pyflink']  # from pyflink\n"),
        ("import pyflink.table, pyflink.common", "import pyflink.table, penstock.common"),
    ],
)  # fmt: skip
def test_names_of_modules(before: str, after: str) -> None:
    assert ported("job.py", before).after == after


def test_what_every_class_lacks_or_accepts_is_in_a_table() -> None:
    """Of methods with a name of their own: what works in some class is no remark."""
    of: dict[str, set[Status]] = {}
    for each in listed_classes():
        for method, status in each.methods.items():
            of.setdefault(method, set()).add(status)
    assert {name for name, found in of.items() if found == {Status.ABSENT}} == ABSENT.keys()
    accepted = {name for name, found in of.items() if found == {Status.ACCEPTED}}
    assert NO_EFFECT.keys() <= accepted
    assert all(Status.ABSENT not in of[name] for name in DIFFERS)


def test_options() -> None:
    text = (
        HEAD
        + "conf.set('parallelism.default', '2')\nconf.set('parallelism.defalt', '2')\nx.set('a.b', 1)\n"
    )
    (remark,) = ported("job.py", text).remarks
    assert (remark.line, remark.weight) == (3, Weight.BY_HAND)
    assert "did you mean 'parallelism.default'" in remark.text


def test_attributes_that_are_set_in_open_are_no_finding() -> None:
    text = (
        "class F(MapFunction[int, int]):\n"
        "    def open(self, context):\n"
        "        self.a = 1\n"
        "    def map(self, value):\n"
        "        other.b = value\n"
        "        self.c = value\n"
        "class G:\n"
        "    def map(self, value):\n"
        "        self.d = value\n"
    )
    (remark,) = ported("job.py", HEAD + text).remarks
    assert "F.map sets self.c" in remark.text


def test_a_text_that_names_a_module_is_told() -> None:
    (remark,) = ported("job.py", HEAD + "patch('pyflink.common.Row')\n").remarks
    assert remark.weight is Weight.DIFFERS


def test_a_file_without_pyflink_is_left_alone() -> None:
    text = "env.add_jars('x')\n"
    assert ported("job.py", text).remarks == ()
    assert ported("job.py", text).after == text


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"job.py:2 is not Python"):
        ported("job.py", "x = 1\nprint 'x'\n")


def test_nothing_is_written_without_being_asked(penstock, program) -> None:
    path = Path(program(HEAD))
    result = penstock("port", str(path), "--diff")
    assert result.exit_code == 0
    assert f"-{HEAD}+{CHANGED}" in result.stdout
    assert path.read_text() == HEAD


def test_files_are_written_in_place(penstock, program, tmp_path) -> None:
    path = tmp_path / "windows.py"
    path.write_bytes(HEAD.replace("\n", "\r\n").encode())
    program("x = 1\n", "other.py")
    result = penstock("port", str(tmp_path), "--write")
    assert result.exit_code == 0
    assert "2 programs: 1 changed, 0 need a hand" in result.stdout
    assert path.read_bytes() == CHANGED.replace("\n", "\r\n").encode()


def test_the_status_says_whether_a_hand_is_needed(penstock, program) -> None:
    path = program(HEAD + "env.add_jars('x')\n")
    result = penstock("port", path)
    assert result.exit_code == 1
    assert f"{path}:2: by hand: add_jars" in result.stdout
    assert penstock("port", program("def", "wrong.py")).exit_code == 1
    assert penstock("port", "no-such-file.py").exit_code == 2


def main() -> None:
    """Write the expectations."""
    for path in CORPUS:
        (GOLDEN / f"{path.stem}.txt").write_text(said(path), encoding="utf-8")


if __name__ == "__main__":
    main()
