"""The names of `pyflink.common.job_id`."""

from __future__ import annotations

from penstock.api.environment.job import JobID

__all__ = ["JobID"]
