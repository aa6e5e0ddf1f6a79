"""The names of `pyflink.common.completable_future`."""

from penstock.api.environment.job import CompletableFuture

__all__ = ["CompletableFuture"]
