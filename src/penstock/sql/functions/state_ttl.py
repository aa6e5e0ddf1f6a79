"""Time-to-live of the state of relations: `table.exec.state.ttl`, and hints."""

from __future__ import annotations

from typing import TypeVar

from penstock.api.state.descriptors import StateDescriptor
from penstock.api.state.ttl import StateTtlConfig
from penstock.types.time import Time

D = TypeVar("D", bound=StateDescriptor)


def expiring(descriptor: D, ttl_ms: int | None) -> D:
    """Return a descriptor whose values expire some milliseconds after they were written; None is never."""
    if ttl_ms is not None:
        descriptor.enable_time_to_live(
            StateTtlConfig.new_builder(Time.milliseconds(ttl_ms)).build()
        )
    return descriptor
