"""The names of `pyflink.common.job_status`."""

from __future__ import annotations

from penstock.api.environment.job import JobStatus

__all__ = ["JobStatus"]
