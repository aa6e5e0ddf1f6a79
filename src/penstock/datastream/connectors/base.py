"""The names of `pyflink.datastream.connectors.base`."""

from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.graph.endpoints import Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
