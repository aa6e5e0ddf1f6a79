"""PyFlink's example of asynchronous calls, from its wheel: the import is changed, nothing else.

It reads random rows from a table. Tables are no part of the DataStream API, so a stand-in gives
the rows; and its seconds are hundredths here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from types import ModuleType
from unittest.mock import MagicMock

import pytest

from penstock.api.environment import job
from penstock.common import Row, Types
from tests.conformance.bundled import VARIABLE, examples
from tests.conformance.in_process_executor import InProcessExecutor
from tests.conformance.porting import ported, run_program

DIRECTORY = examples()
EXAMPLE = "asyncio/remote_model_inference.py"
ROWS = [Row(user_id=number, comments=f"comment {number}") for number in range(30)]
ROW_TYPE = Types.ROW_NAMED(["user_id", "comments"], [Types.INT(), Types.STRING()])

pytestmark = pytest.mark.skipif(
    DIRECTORY is None,
    reason=f"no PyFlink examples: install apache-flink, or name their directory in {VARIABLE}",
)


class TableEnvironment:
    """Stands in for PyFlink's: every table has the same rows."""

    def __init__(self, stream_execution_environment):
        self._environment = stream_execution_environment

    @classmethod
    def create(cls, stream_execution_environment):
        return cls(stream_execution_environment)

    def create_temporary_table(self, path, descriptor):
        assert path == "source"

    def from_path(self, path):
        return path

    def to_data_stream(self, table):
        return self._environment.from_collection(ROWS, type_info=ROW_TYPE)


@pytest.fixture
def tables(monkeypatch):
    module = ModuleType("penstock.table")
    module.__dict__.update(
        StreamTableEnvironment=TableEnvironment,
        TableDescriptor=MagicMock(),
        Schema=MagicMock(),
        DataTypes=MagicMock(),
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def fast(monkeypatch):
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: sleep(seconds / 100))


@pytest.mark.usefixtures("tables", "fast")
def test_remote_model_inference(monkeypatch, capsys):
    assert DIRECTORY is not None
    executor = f"{InProcessExecutor.__module__}:{InProcessExecutor.__name__}"
    monkeypatch.setitem(job.EXECUTORS, "spark", executor)
    run_program(ported((DIRECTORY / EXAMPLE).read_text(encoding="utf-8")), EXAMPLE)
    printed = [line for line in capsys.readouterr().out.splitlines() if "{" in line]
    found = [json.loads(line[line.index("{") :]) for line in printed]
    assert sorted(answer["user_id"] for answer in found) == list(range(30))
    assert {answer["analysis_result"] for answer in found} == {"positive"}
