"""The names of `pyflink.datastream.connectors.base`."""

from __future__ import annotations

from penstock.connectors.delivery import DeliveryGuarantee
from penstock.graph.endpoints import Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
