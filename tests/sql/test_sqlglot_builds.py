"""sqlglot's compiled build beside Penstock: its classes cannot be derived from, so Penstock reads the sources."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from penstock.sql import sqlglot_source

PROGRAM = """
import sys
{before}
from penstock.sql.grammar import parse_script
from penstock.sql.sqlglot_source import exp
(found,) = parse_script("SELECT a FROM t /*+ OPTIONS('k' = 'v') */ WHERE b > 1")
assert isinstance(found.query, exp.Select), type(found.query)
print(type(found.query).__module__.partition(".")[0], found.query.sql()[:8], "sqlglot" in sys.modules)
"""


def printed(path: Path, before: str = "") -> str:
    """Return what a program prints that finds sqlglot in a directory."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Return a directory with sqlglot as its compiled build is: an extension module beside each source.

    The module here cannot be loaded, so whoever imports it in place of the source fails.
    """
    spec = importlib.util.find_spec("sqlglot")
    assert spec is not None
    assert spec.origin is not None
    package = tmp_path / "sqlglot"
    package.mkdir()
    for each in Path(spec.origin).parent.iterdir():
        if each.name != "__pycache__":
            (package / each.name).symlink_to(each)
    for name in ("parser", "tokenizer_core", "errors"):
        (package / f"{name}{EXTENSION_SUFFIXES[0]}").write_bytes(b"no module")
    return tmp_path


def test_sources_are_read_where_there_is_a_compiled_build(compiled: Path) -> None:
    assert printed(compiled) == "_penstock_sqlglot SELECT a False"


def test_the_library_of_the_program_is_used_where_it_is_of_sources() -> None:
    assert printed(Path("/")) == "sqlglot SELECT a True"


def test_the_program_may_have_imported_its_own(compiled: Path) -> None:
    own = "import types; sys.modules['sqlglot'] = types.ModuleType('sqlglot')"
    assert printed(compiled, own) == "_penstock_sqlglot SELECT a True"


@pytest.mark.skipif(
    "PENSTOCK_COMPILED_SQLGLOT" not in os.environ,
    reason="PENSTOCK_COMPILED_SQLGLOT is no directory with sqlglot[c]",
)
def test_the_real_compiled_build_works() -> None:
    path = Path(os.environ["PENSTOCK_COMPILED_SQLGLOT"])
    before = "import sqlglot; assert sqlglot.parser.__file__.endswith('.so')"
    assert printed(path, before) == "_penstock_sqlglot SELECT a True"


def test_what_is_used_is_named() -> None:
    assert all(hasattr(sqlglot_source, name) for name in sqlglot_source.__all__)
