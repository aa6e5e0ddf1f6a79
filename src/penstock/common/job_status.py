"""The names of `pyflink.common.job_status`."""

from penstock.api.environment.job import JobStatus

__all__ = ["JobStatus"]
