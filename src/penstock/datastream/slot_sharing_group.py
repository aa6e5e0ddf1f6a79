"""The names of `pyflink.datastream.slot_sharing_group`."""

from penstock.api.environment.slot_sharing import MemorySize, SlotSharingGroup

__all__ = ["MemorySize", "SlotSharingGroup"]
