"""Sink contexts for the tests of connectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import CallSite
from penstock.graph.endpoints import SinkContext
from penstock.types.information import PickledBytesTypeInfo, TypeInformation

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
