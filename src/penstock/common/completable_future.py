"""The names of `pyflink.common.completable_future`."""

from __future__ import annotations

from penstock.api.environment.completable_future import CompletableFuture

__all__ = ["CompletableFuture"]
