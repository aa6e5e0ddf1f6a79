"""Settings of the user's session: they come back, whatever the order in which jobs end.

The session is a fake with a dictionary; that Spark keeps such settings is in `tests/spark`.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import EnvironmentSetupError
from penstock.spark.failures.translation import translate
from penstock.spark.session import job_settings as settings
from penstock.spark.session.job_settings import RUNTIME, default_interpreter, job_settings

KEY = "spark.sql.execution.arrow.maxBytesPerBatch"


class Conf:
    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.values.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def unset(self, key: str) -> None:
        del self.values[key]


def a_session(python: str = "python3", name: str = "1", **values: str) -> Any:
    return SimpleNamespace(
        conf=Conf(dict(values)),
        sparkContext=SimpleNamespace(pythonExec=python),
        _jsparkSession=SimpleNamespace(sessionUUID=lambda: name),
    )


def test_a_job_sets_what_it_needs_and_gives_it_back() -> None:
    before = {KEY: "17", "spark.other": "mine"}
    session = a_session(**before)
    with job_settings(session, "/the/python"):
        assert session.conf.values == before | RUNTIME
        assert session.sparkContext.pythonExec == "/the/python"
    assert session.conf.values == before
    assert session.sparkContext.pythonExec == "python3"
    assert settings._sessions == {}


def test_a_job_that_fails_gives_it_back() -> None:
    session = a_session()
    with pytest.raises(ValueError, match="failed"), job_settings(session, "/the/python"):
        raise ValueError("failed")
    assert session.conf.values == {}
    assert session.sparkContext.pythonExec == "python3"


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_the_last_of_two_jobs_gives_it_back(first_to_end: int) -> None:
    before = {KEY: "17"}
    session = a_session(**before)
    same: Any = SimpleNamespace(**vars(session))  # another wrapper of the same session
    jobs = [ExitStack(), ExitStack()]
    jobs[0].enter_context(job_settings(session, "/the/python"))
    jobs[1].enter_context(job_settings(same, None))
    jobs[first_to_end].close()
    assert session.conf.values == before | RUNTIME
    assert session.sparkContext.pythonExec == "/the/python"
    jobs[1 - first_to_end].close()
    assert session.conf.values == before
    assert session.sparkContext.pythonExec == "python3"


def test_jobs_of_two_sessions_have_nothing_in_common() -> None:
    one, two = a_session(name="1"), a_session(name="2", **{KEY: "2"})
    with job_settings(one, None):
        with job_settings(two, None):
            pass
        assert two.conf.values == {KEY: "2"}
        assert one.conf.values == RUNTIME


def test_what_the_user_sets_meanwhile_stays() -> None:
    session = a_session(**{KEY: "17"})
    with job_settings(session, None):
        session.conf.set(KEY, "18")
    assert session.conf.values == {KEY: "18"}


@pytest.mark.parametrize(
    ("python", "conf", "environment"),
    [
        ("/opt/python", {}, None),
        ("python3", {"spark.pyspark.python": "/opt/python"}, None),
        ("python3", {}, "/opt/python"),
    ],
    ids=["when the session was made", "a setting", "the environment"],
)
def test_an_interpreter_that_was_told_stays(
    monkeypatch: pytest.MonkeyPatch, python: str, conf: dict[str, str], environment: str | None
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert default_interpreter(a_session()) == sys.executable
    if environment is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", environment)
    assert default_interpreter(a_session(python, **conf)) is None


def test_a_worker_without_penstock_is_explained() -> None:
    said = (
        "Job aborted due to stage failure: Traceback (most recent call last):\n"
        '  File "worker.py", line 1, in main\n'
        "ModuleNotFoundError: No module named 'penstock'\n"
    )
    error = translate(RuntimeError(said), "run 0 (batch)")
    assert isinstance(error, EnvironmentSetupError)
    assert "No module named 'penstock'" in error.problem
    assert "PYSPARK_PYTHON" in error.hint
