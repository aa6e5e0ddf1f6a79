"""The names of `pyflink.common.job_client`."""

from penstock.api.environment.job import JobClient

__all__ = ["JobClient"]
