"""Settings for every test."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every run, and no deadline: a slow machine is not a wrong answer.
settings.register_profile("penstock", derandomize=True, deadline=None)
settings.load_profile("penstock")
