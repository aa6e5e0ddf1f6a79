"""State of a savepoint is shown where there is no Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from penstock.state.schema.entry_schema import StateKind
from penstock.types import Types
from tests.spark.made_state import make_savepoint, of, section

COUNTS = of(StateKind.VALUE, Types.LONG())


def test_ls_and_show_need_no_java(tmp_path):
    counts = section("count", COUNTS, ("b", 2), ("a", 1))
    point = make_savepoint(tmp_path / "point", ("totals", 3, [counts]))

    def shown(*command):
        ran = subprocess.run(
            [sys.executable, "-m", "penstock", "state", *command, "--json"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "JAVA_HOME": str(tmp_path / "no-java")},
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        return [json.loads(line) for line in ran.stdout.splitlines()]

    (listed,) = shown("ls", str(point))
    assert (listed["uid"], listed["name"], listed["entries"]) == ("totals", "count", 2)
    assert shown("show", str(point), "totals", "count") == [
        {"key": "a", "value": 1, "key_group": 3},
        {"key": "b", "value": 2, "key_group": 3},
    ]
