"""Known causes of different answers, found in the functions of a program without running it."""

from __future__ import annotations

from penstock.testing.causes.cause import Cause, CauseKind
from penstock.testing.causes.find import find_causes

__all__ = ["Cause", "CauseKind", "find_causes"]
