"""The names of `pyflink.common.job_execution_result`."""

from penstock.api.environment.job import JobExecutionResult

__all__ = ["JobExecutionResult"]
