"""The names of `pyflink.datastream.connectors.base`."""

from penstock.connectors.staged import DeliveryGuarantee
from penstock.graph.endpoints import Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
