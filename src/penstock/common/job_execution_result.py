"""The names of `pyflink.common.job_execution_result`."""

from __future__ import annotations

from penstock.api.environment.job import JobExecutionResult

__all__ = ["JobExecutionResult"]
