"""Secrets of Spark's settings do not stand on a command line, and reach the JVM all the same."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import EnvironmentSetupError
from penstock.spark.session.settings import on_command_line

KEY = "spark.hadoop.fs.s3a.secret.key"
SECRET = "a=b: c\\d #é😀!"  # noqa: S105 - nobody's

PROGRAM = f"""
import json, pathlib
from penstock.common import Configuration
from penstock.spark.session.factory import get_session

conf = Configuration.from_dict({{{KEY!r}: {SECRET!r}, "spark.app.name": "shown"}})
session = get_session(conf)
lines = [
    path.read_bytes().decode("utf-8", "replace")
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
    if path.exists()
]
hadoop = session.sparkContext._jsc.hadoopConfiguration()
print(json.dumps({{
    "java": sum("spark.app.name=shown" in line for line in lines),
    "shown": sum("a=b" in line for line in lines),
    "secret": hadoop.get("fs.s3a.secret.key"),
}}))
session.stop()
"""


@pytest.mark.spark
def test_a_secret_is_on_no_command_line_and_in_the_session(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["java"] >= 1, "the JVM was seen"
    assert found["shown"] == 0
    assert found["secret"] == SECRET


def test_the_file_is_its_owner_s_and_is_gone_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--name 'a b' pyspark-shell")
    with on_command_line({KEY: SECRET, "spark.app.name": "shown"}) as shown:
        words = os.environ["PYSPARK_SUBMIT_ARGS"].split()
        path = Path(words[words.index("--properties-file") + 1])
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert path.read_text() == (KEY + "=a\\=b\\:\\ c\\\\d\\ \\#\\u00e9\\ud83d\\ude00\\!\n")
        assert words[-4:] == ["--name", "'a", "b'", "pyspark-shell"]
    assert shown == {"spark.app.name": "shown"}
    assert not path.exists()
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--name 'a b' pyspark-shell"


def test_without_secrets_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with on_command_line({"spark.app.name": "shown"}) as shown:
        assert "PYSPARK_SUBMIT_ARGS" not in os.environ
    assert shown == {"spark.app.name": "shown"}


def test_a_file_of_the_user_s_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--properties-file=mine.conf pyspark-shell")
    with pytest.raises(EnvironmentSetupError, match=KEY), on_command_line({KEY: SECRET}):
        pass
