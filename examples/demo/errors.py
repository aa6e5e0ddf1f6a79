"""What can go wrong in the demo, other than in the job itself."""

from __future__ import annotations

from penstock.errors import PenstockError


class DemoDataError(PenstockError):
    """The demo's data cannot be prepared."""

    code = "DEMO_DATA"


class DemoStalledError(PenstockError):
    """The demo's job made no progress for a long time."""

    code = "DEMO_STALLED"


class DemoCheckError(PenstockError):
    """The job's answers differ from those of Spark SQL."""

    code = "DEMO_CHECK"
