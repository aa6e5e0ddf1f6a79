"""`spark-submit` to a standalone cluster of processes: client mode, cluster mode, and a driver that is lost there.

Spark refuses Python programs in cluster mode of a standalone cluster. What it runs for them elsewhere, on YARN for instance, is
the class `PythonRunner` in the JVM of the driver; the test submits this class, which a standalone cluster runs as any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.testing.drivers import is_alive
from tests.faults.processes import kill, wait_for
from tests.faults.test_soak import Feed, chance, rows_of, shown
from tests.spark.jobs import submitted
from tests.spark.standalone import SPARK, Cluster, standalone_cluster
from tests.spark.test_readme import PRINTED, readme_program, write_flights

SECONDS = 300
RUNNER = "org.apache.spark.deploy.PythonRunner"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def test_the_program_of_the_readme_in_client_mode(cluster: Cluster, tmp_path: Path) -> None:
    write_flights(tmp_path)
    (tmp_path / "job.py").write_text(readme_program())
    ran = cluster.submit("--name", "client", "job.py", directory=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert sorted(line.split("> ")[-1] for line in ran.stdout.splitlines()) == PRINTED
    assert (tmp_path / "checkpoint" / "finished.json").exists()


def test_spark_refuses_python_programs_in_cluster_mode(cluster: Cluster, tmp_path: Path) -> None:
    ran = cluster.submit("--deploy-mode", "cluster", submitted.__file__, directory=tmp_path)
    assert ran.returncode != 0
    assert "not supported for python applications on standalone clusters" in ran.stderr
    assert cluster.drivers() == []


def test_a_driver_of_cluster_mode_that_is_killed_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    feed, out = Feed(tmp_path / "data", chance()), tmp_path / "out"
    for part in ("history", "history", "live"):
        feed.write(part)
    (jar,) = SPARK.glob("jars/spark-tags_*.jar")
    arguments = [str(tmp_path / "job"), f"{feed.data}/history", f"{feed.data}/live", str(out)]
    program = [str(jar), submitted.__file__, "", *arguments]
    mode = ["--deploy-mode", "cluster", "--supervise", "--class", RUNNER]
    ran = cluster.submit(*mode, *program, directory=tmp_path)
    assert ran.returncode == 0, ran.stderr

    def all_are_shown() -> bool:
        return len(rows_of(out)) >= len(feed.records)

    wait_for(all_are_shown, SECONDS, "the driver has shown nothing")
    (driver,) = cluster.drivers()
    kill(driver)
    assert not is_alive(driver)
    feed.write("live")
    wait_for(all_are_shown, SECONDS, cluster.printed())
    (other,) = cluster.drivers()
    assert other != driver
    assert shown(rows_of(out)) == feed.replayed()
