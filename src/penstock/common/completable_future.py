"""The names of `pyflink.common.completable_future`."""

from penstock.api.environment.completable_future import CompletableFuture

__all__ = ["CompletableFuture"]
