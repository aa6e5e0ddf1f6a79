"""The program of the README as `spark-submit` runs it: in a JVM that was there first, on executors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.spark.test_readme import PRINTED, readme_program, write_flights


def test_the_program_of_the_readme_under_spark_submit(tmp_path: Path) -> None:
    """Nobody tells workers an interpreter: they get that of the driver."""
    write_flights(tmp_path)
    (tmp_path / "job.py").write_text(readme_program())
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYSPARK_")}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"  # as an activated venv
    master = ["--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false"]
    ran = subprocess.run(
        ["spark-submit", *master, "--name", "submitted", "job.py"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Connected to Spark cluster" in ran.stderr or "StandaloneAppClient" in ran.stderr
    assert sorted(line.split("> ")[-1] for line in ran.stdout.splitlines()) == PRINTED
    assert (tmp_path / "checkpoint" / "finished.json").exists()
