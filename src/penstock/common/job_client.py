"""The names of `pyflink.common.job_client`."""

from __future__ import annotations

from penstock.api.environment.job import JobClient

__all__ = ["JobClient"]
