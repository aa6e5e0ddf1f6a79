"""The names of `pyflink.common.job_id`."""

from penstock.api.environment.job import JobID

__all__ = ["JobID"]
