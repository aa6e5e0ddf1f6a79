"""Keeps process overrides of one test from the next."""

from __future__ import annotations

import pytest

from penstock.config.configuration import process_overrides, set_process_overrides


@pytest.fixture(autouse=True)
def _no_overrides_left():
    yield
    for name, _ in process_overrides():
        set_process_overrides(name, {})
