"""Sink contexts for the tests of connectors, and where they stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.connectors.staged import StagedBytesWriter
from penstock.errors import CallSite
from penstock.graph.endpoints import SinkContext
from penstock.types import PickledBytesTypeInfo, TypeInformation

MakeContext = Callable[..., SinkContext]


@pytest.fixture
def make_context(tmp_path: Path) -> MakeContext:
    """Make contexts of a sink named `out`, of undeclared type unless one is given."""

    def make(type_info: TypeInformation | None = None, subtask: int = 0) -> SinkContext:
        return SinkContext(
            job_id="0123456789abcdef",
            sink_id="s3",
            subtask=subtask,
            type_info=type_info or PickledBytesTypeInfo(),
            name="out",
            origin=CallSite("job.py", 41, "build"),
            scratch=tmp_path / "scratch",
        )

    return make


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all that is staged be files, however little it is."""
    monkeypatch.setattr(StagedBytesWriter, "most_kept_bytes", 0)


@pytest.fixture(params=["kept", "in files"])
def staged_both_ways(request: pytest.FixtureRequest) -> None:
    """Run a test twice: little that is staged stays with its handle, or is a file."""
    if request.param == "in files":
        request.getfixturevalue("in_files")
