"""`penstock state`, in this process, on savepoints written by hand."""

from __future__ import annotations

import json
import sys
from pkgutil import resolve_name

import pytest

from penstock.cli import state
from penstock.config.configuration import Configuration
from penstock.spark.inspect import small_state
from penstock.spark.session.factory import get_session
from penstock.state.schema.entry_schema import StateKind
from penstock.types import Types
from tests.spark.made_state import make_savepoint, of, section

pytestmark = pytest.mark.spark

COUNTS = of(StateKind.VALUE, Types.LONG())
PAIRS = of(StateKind.MAP, Types.PICKLED_BYTE_ARRAY(), Types.STRING())


class Basket:
    """A value that has no JSON."""

    def __repr__(self):
        return "Basket()"


@pytest.fixture(scope="module", autouse=True)
def session():
    """Return the session of the process, which tests of other files share; so nobody stops it here."""
    return get_session(Configuration.from_dict({"parallelism.default": 2}))


@pytest.fixture(autouse=True, params=["here", "spark"])
def reader(request, monkeypatch):
    """Let this process read the state, or Spark."""
    if request.param == "spark":
        monkeypatch.setattr(small_state, "MOST_BYTES", -1)


@pytest.fixture(scope="module")
def points(session, tmp_path_factory):
    """Return two savepoints; the second counts one key more, and another value."""
    root = tmp_path_factory.mktemp("points")
    pairs = section("pairs", PAIRS, (7, "a", [1, {"x": None}]), (7, "b", {1}))
    first = [("a", 1), ("b", 1234), ("c", 3)]
    second = [("a", 1), ("b", 1235), ("d", 4), ("e", 5)]
    return [
        make_savepoint(
            root / name,
            ("totals", 3, [section("count", COUNTS, *counts)]),
            ("totals", 4, [pairs]),
        )
        for name, counts in (("first", first), ("second", second))
    ]


def rows(output):
    """Return the cells of the rows of a table."""
    lines = [line for line in output.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_ls(penstock, points):
    result = penstock("state", "ls", str(points[0]))
    assert (result.exit_code, result.stderr) == (0, "")
    found = [row[:7] for row in rows(result.stdout)]
    assert found == [
        ["totals", "count", "value", "Long", "no", "3", "3"],
        ["totals", "pairs", "map", "String -> any object", "no", "2", "1"],
    ]


def test_ls_as_json(penstock, points):
    result = penstock("state", "ls", str(points[0]), "--json")
    first = json.loads(result.stdout.splitlines()[0])
    assert (first["uid"], first["name"], first["entries"], first["ttl"]) == (
        "totals",
        "count",
        3,
        False,
    )


def test_show(penstock, points):
    result = penstock("state", "show", str(points[0]), "totals", "count")
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows(result.stdout) == [['"a"', "1", "3"], ['"b"', "1234", "3"], ['"c"', "3", "3"]]


@pytest.mark.parametrize("key", ["b", '"b"'])
def test_show_one_key(penstock, points, key):
    result = penstock("state", "show", str(points[0]), "totals", "count", "--key", key)
    assert rows(result.stdout) == [['"b"', "1234", "3"]]


def test_show_a_key_there_is_not(penstock, points):
    result = penstock("state", "show", str(points[0]), "totals", "count", "--key", "z")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no entries\n")


def test_show_says_when_there_are_more(penstock, points):
    result = penstock("state", "show", str(points[0]), "totals", "count", "--limit", "2")
    assert [row[0] for row in rows(result.stdout)] == ['"a"', '"b"']
    assert result.stderr == "there are more than 2 entries; --limit shows more\n"


def test_show_as_json(penstock, points):
    result = penstock("state", "show", str(points[0]), "totals", "pairs", "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"key": 7, "map_key": "a", "value": [1, {"x": None}], "key_group": 4},
        {"key": 7, "map_key": "b", "value": "{1}", "key_group": 4},
    ]


def test_diff(penstock, points):
    result = penstock("state", "diff", *map(str, points))
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows(result.stdout) == [
        ["totals", "count", "3", "4", "2", "1", "1"],
        ["totals", "pairs", "2", "2", "0", "0", "0"],
    ]
    assert [line for line in result.stdout.splitlines() if line[0] in "+-~"] == [
        '~ totals/count "b": 1234 → 1235',
        '- totals/count "c": 3',
        '+ totals/count "d": 4',
        '+ totals/count "e": 5',
    ]


def test_diff_of_one_state_with_a_limit(penstock, points):
    result = penstock("state", "diff", *map(str, points), "totals", "count", "--limit", "1")
    assert rows(result.stdout) == [["totals", "count", "3", "4", "2", "1", "1"]]
    assert result.stdout.splitlines()[-1] == '~ totals/count "b": 1234 → 1235'


def test_diff_of_the_same(penstock, points):
    result = penstock("state", "diff", str(points[0]), str(points[0]))
    assert (result.exit_code, result.stderr) == (0, "no difference\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "{point}", "total", "count"], "STATE", "uids there are: totals"),
        (["show", "{point}", "totals", "counts"], "STATE", "states there are: count, pairs"),
        (["ls", "{nothing}"], "JOB_DIRECTORY", "neither a checkpoint directory nor a savepoint"),
        (["diff", "{point}", "{nothing}"], "JOB_DIRECTORY", "nothing"),
        (["diff", "{point}", "{point}", "total"], "STATE", "operator 'total'"),
    ],
)
def test_errors(penstock, points, tmp_path, arguments, code, words):
    nothing = tmp_path / "nothing"
    given = [each.format(point=points[0], nothing=nothing) for each in arguments]
    result = penstock("state", *given)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"[{code}] ")
    assert words in result.stderr


def test_a_class_that_cannot_be_imported(penstock, tmp_path, monkeypatch):
    module = type(sys)("shop")
    module.__dict__["Basket"] = Basket
    monkeypatch.setattr(Basket, "__module__", "shop")
    monkeypatch.setitem(sys.modules, "shop", module)
    baskets = section("baskets", of(StateKind.VALUE, Types.PICKLED_BYTE_ARRAY()), (1, Basket()))
    point = make_savepoint(tmp_path / "point", ("shop", 1, [baskets]))
    monkeypatch.delitem(sys.modules, "shop")
    result = penstock("state", "show", str(point), "shop", "baskets")
    assert result.exit_code == 1
    assert "the class shop.Basket of a stored value cannot be imported" in result.stderr
    assert "PYTHONPATH" in result.stderr


@pytest.mark.parametrize("command", ["ls", "show", "diff"])
def test_help_warns_and_has_an_example(penstock, command):
    result = penstock("state", command, "--help")
    assert result.exit_code == 0
    assert "Only open what your own jobs wrote" in result.stdout
    assert f"Example: penstock state {command}" in result.stdout


def test_what_reads_exists_under_its_name():
    for name in (
        state.READ_STATE,
        state.READ_NAMES,
        state.SMALL_STATE,
        state.IN_ORDER,
        state.DIFFERENCES,
    ):
        assert callable(resolve_name(name))
