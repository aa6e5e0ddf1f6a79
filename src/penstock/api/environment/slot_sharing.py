"""`SlotSharingGroup` and `MemorySize`: accepted, because Spark has no slots to share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import total_ordering
from math import inf

from penstock.api.environment.setting_values import checked_count
from penstock.errors import ArgumentError

_UNIT = 1024


@total_ordering
class MemorySize:
    """A number of bytes. Immutable and ordered.

    Example:
        >>> MemorySize.of_mebi_bytes(2).get_kibi_bytes()
        2048
        >>> size = MemorySize.of_mebi_bytes(3 * 1024)
        >>> size.get_bytes(), size.get_mebi_bytes(), size.get_gibi_bytes(), size.get_tebi_bytes()
        (3221225472, 3072, 3, 0)
    """

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int) -> None:
        """Make a size.

        Raises:
            ArgumentError: It is not an integer from 0.
        """
        self._bytes = checked_count(bytes_size, "MemorySize", 0)

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return a size of `mebi_bytes` units of 1024 KiB."""
        return MemorySize(checked_count(mebi_bytes, "of_mebi_bytes", 0) * _UNIT**2)

    def get_bytes(self) -> int:
        """Return the number of bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the number of whole units of 1024 bytes."""
        return self._bytes // _UNIT

    def get_mebi_bytes(self) -> int:
        """Return the number of whole units of 1024 KiB."""
        return self._bytes // _UNIT**2

    def get_gibi_bytes(self) -> int:
        """Return the number of whole units of 1024 MiB."""
        return self._bytes // _UNIT**3

    def get_tebi_bytes(self) -> int:
        """Return the number of whole units of 1024 GiB."""
        return self._bytes // _UNIT**4

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: object) -> bool:
        return self._bytes < other._bytes if isinstance(other, MemorySize) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        for power, unit in ((4, "tb"), (3, "gb"), (2, "mb"), (1, "kb")):
            if self._bytes and self._bytes % _UNIT**power == 0:
                return f"{self._bytes // _UNIT**power} {unit}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes})"


@dataclass(frozen=True, slots=True)
class SlotSharingGroup:
    """The name and resources of a group, which have no effect: Spark has no slots.

    Example:
        >>> SlotSharingGroup.builder("heavy").build().get_name()
        'heavy'
        >>> group = (
        ...     SlotSharingGroup.builder("heavy")
        ...     .set_cpu_cores(2.0)
        ...     .set_task_heap_memory_mb(512)
        ...     .set_task_off_heap_memory_mb(256)
        ...     .set_managed_memory_mb(128)
        ...     .set_external_resource("gpu", 1.0)
        ...     .build()
        ... )
        >>> group.get_cpu_cores(), group.get_external_resources()
        (2.0, {'gpu': 1.0})
        >>> group.get_task_heap_memory().get_mebi_bytes()
        512
        >>> group.get_task_off_heap_memory().get_mebi_bytes()
        256
        >>> group.get_managed_memory().get_mebi_bytes()
        128
    """

    _name: str
    _cpu_cores: float | None = None
    _task_heap_memory: MemorySize | None = None
    _task_off_heap_memory: MemorySize | None = None
    _managed_memory: MemorySize | None = None
    _external_resources: Mapping[str, float] = field(default_factory=dict, hash=False)

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        """Return the managed memory, None if it was not set."""
        return self._managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the heap memory, None if it was not set."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the memory outside the heap, None if it was not set."""
        return self._task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """Return the number of cores, None if it was not set."""
        return self._cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Return the resources of other kinds, by name."""
        return dict(self._external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder of a group with the name `name`."""
        return SlotSharingGroup.Builder(name)

    class Builder:
        """Builds a `SlotSharingGroup`."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._heap: MemorySize | None = None
            self._off_heap: MemorySize | None = None
            self._managed: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the number of cores.

            Raises:
                ArgumentError: It is not a positive number.
            """
            self._cpu_cores = _positive(cpu_cores, "set_cpu_cores")
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap memory.

            Raises:
                ArgumentError: It is not a size above 0.
            """
            if _size(task_heap_memory, "set_task_heap_memory").get_bytes() == 0:
                raise _illegal("set_task_heap_memory", task_heap_memory, "a size above 0")
            self._heap = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap memory in MiB."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Set the memory outside the heap."""
            self._off_heap = _size(task_off_heap_memory, "set_task_off_heap_memory")
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Set the memory outside the heap in MiB."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory."""
            self._managed = _size(managed_memory, "set_managed_memory")
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory in MiB."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set a resource of another kind; an earlier value of the name is replaced.

            Raises:
                ArgumentError: It is not a positive number.
            """
            self._external[name] = _positive(value, "set_external_resource")
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group; of one with resources, memory that was not set is 0.

            Raises:
                ArgumentError: There are resources without cores or without heap memory.
            """
            given = (self._cpu_cores, self._heap, self._off_heap, self._managed)
            if not self._external and not any(resource is not None for resource in given):
                return SlotSharingGroup(self._name)
            if self._cpu_cores is None or self._heap is None:
                raise ArgumentError.here(
                    f"the slot sharing group {self._name!r} has resources, but no "
                    f"{'cpu cores' if self._cpu_cores is None else 'task heap memory'}",
                    hint="Set both cpu cores and task heap memory, or no resources at all.",
                )
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                self._heap,
                self._off_heap or MemorySize(0),
                self._managed or MemorySize(0),
                dict(self._external),
            )


def _size(value: object, method: str) -> MemorySize:
    if not isinstance(value, MemorySize):
        raise _illegal(method, value, "a MemorySize")
    return value


def _positive(value: float, method: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < inf:
        raise _illegal(method, value, "a number above 0")
    return value


def _illegal(method: str, value: object, required: str) -> ArgumentError:
    return ArgumentError.here(f"{method} got {value!r}", hint=f"Pass {required}.")
