"""Workers of a session that the program makes itself run the interpreter that runs the program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from penstock.cli.script import run_script

SAYS = """
import os
print(os.environ.get("PYSPARK_PYTHON"))
"""


@pytest.mark.parametrize("told", [None, "/opt/other/python"])
def test_the_program_sees_it_and_what_was_told_stays(program, monkeypatch, capfd, told):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if told is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", told)
    run_script(Path(program(SAYS)), [])
    assert capfd.readouterr().out.strip() == (told or sys.executable)
    assert os.environ.get("PYSPARK_PYTHON") == told
