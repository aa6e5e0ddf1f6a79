"""`ExecutionConfig`: how the operators of a program are executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.api.environment.setting_values import Length, length_of, milliseconds_of
from penstock.config.accepted_options import (
    CANCELLATION_INTERVAL,
    CANCELLATION_TIMEOUT,
    CLOSURE_CLEANER,
    FORCE_AVRO,
    FORCE_KRYO,
    GENERIC_TYPES,
    SNAPSHOT_COMPRESSION,
)
from penstock.config.configuration import Configuration, job_parameters, set_job_parameters
from penstock.config.option import ConfigOption
from penstock.config.options import AUTO_UIDS, MAX_PARALLELISM, OBJECT_REUSE, PARALLELISM
from penstock.config.run_options import AUTO_WATERMARK_INTERVAL, LATENCY_INTERVAL
from penstock.plan.options import plan_options


class ExecutionConfig:
    """A view of the execution keys of a configuration.

    Parallelism, job parameters, uids, object reuse, and the intervals of watermarks and latency
    markers have an effect; other settings can be set and read.

    Attributes:
        PARALLELISM_DEFAULT: Flink's number for the default.
        PARALLELISM_UNKNOWN: Flink's number for none.

    Example:
        >>> env.get_config().set_parallelism(8).get_parallelism()
        8
        >>> config = env.get_config().set_auto_watermark_interval(0).set_max_parallelism(64)
        >>> config.get_auto_watermark_interval(), config.get_max_parallelism()
        (0, 64)
        >>> config.set_latency_tracking_interval(1_000).get_latency_tracking_interval()
        1000
        >>> config.enable_object_reuse().is_object_reuse_enabled()
        True
        >>> config.disable_object_reuse().is_object_reuse_enabled()
        False
        >>> config.disable_auto_generated_uids().has_auto_generated_uids_enabled()
        False
        >>> config = config.enable_auto_generated_uids().set_global_job_parameters({"since": "2026"})
        >>> config.get_global_job_parameters()
        {'since': '2026'}

        The rest has no effect, and is read as it was set:

        >>> config.disable_closure_cleaner().is_closure_cleaner_enabled()
        False
        >>> config.enable_closure_cleaner().is_closure_cleaner_enabled()
        True
        >>> config.set_task_cancellation_interval(500).get_task_cancellation_interval()
        500
        >>> config.set_task_cancellation_timeout(700).get_task_cancellation_timeout()
        700
        >>> config.enable_force_kryo().is_force_kryo_enabled()
        True
        >>> config.disable_force_kryo().is_force_kryo_enabled()
        False
        >>> config.enable_force_avro().is_force_avro_enabled()
        True
        >>> config.disable_force_avro().is_force_avro_enabled()
        False
        >>> config.disable_generic_types().has_generic_types_disabled()
        True
        >>> config.enable_generic_types().has_generic_types_disabled()
        False
        >>> config.set_use_snapshot_compression(True).is_use_snapshot_compression()
        True
        >>> config.get_registered_kryo_types(), config.get_registered_pojo_types()
        ([], [])
        >>> config.get_default_kryo_serializer_classes()
        {}
    """

    PARALLELISM_DEFAULT: ClassVar[int] = -1
    PARALLELISM_UNKNOWN: ClassVar[int] = -2

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Set the flag, which has no effect."""
        return self._set(CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Unset the flag, which has no effect."""
        return self._set(CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """Return the flag that was set."""
        return self._configuration.get(CLOSURE_CLEANER) != "NONE"

    def set_auto_watermark_interval(self, interval: Length) -> ExecutionConfig:
        """Set the watermark interval.

        Args:
            interval: Milliseconds; 0 declares that the job needs no watermarks (FLIP-330 §1.3).
        """
        return self._set(
            AUTO_WATERMARK_INTERVAL, length_of(interval, "set_auto_watermark_interval")
        )

    def get_auto_watermark_interval(self) -> int:
        """Return the watermark interval, in milliseconds."""
        return milliseconds_of(self._configuration.get(AUTO_WATERMARK_INTERVAL))

    def set_latency_tracking_interval(self, interval: Length) -> ExecutionConfig:
        """Set the interval of latency markers.

        Args:
            interval: Milliseconds; 0 or less sends none.
        """
        if type(interval) is int:
            interval = max(interval, 0)
        return self._set(LATENCY_INTERVAL, length_of(interval, "set_latency_tracking_interval"))

    def get_latency_tracking_interval(self) -> int:
        """Return the interval of latency markers, in milliseconds."""
        return milliseconds_of(self._configuration.get(LATENCY_INTERVAL))

    def get_parallelism(self) -> int:
        """Return the number of subtasks of every operator that does not set its own."""
        return plan_options(self._configuration).parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of subtasks of every operator that does not set its own.

        Args:
            parallelism: An integer from 1; `PARALLELISM_DEFAULT` unsets it.

        Raises:
            ConfigError: It is not an integer from 1.
        """
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(PARALLELISM.key)
            return self
        return self._set(PARALLELISM, parallelism)

    def get_max_parallelism(self) -> int:
        """Return the number of key groups."""
        return self._configuration.get(MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, `max_parallelism`, which limits the parallelism."""
        return self._set(MAX_PARALLELISM, max_parallelism)

    def get_task_cancellation_interval(self) -> int:
        """Return the interval that was set, in milliseconds."""
        return milliseconds_of(self._configuration.get(CANCELLATION_INTERVAL))

    def set_task_cancellation_interval(self, interval: Length) -> ExecutionConfig:
        """Set `interval` in milliseconds, which has no effect."""
        return self._set(
            CANCELLATION_INTERVAL, length_of(interval, "set_task_cancellation_interval")
        )

    def get_task_cancellation_timeout(self) -> int:
        """Return the timeout that was set, in milliseconds."""
        return milliseconds_of(self._configuration.get(CANCELLATION_TIMEOUT))

    def set_task_cancellation_timeout(self, timeout: Length) -> ExecutionConfig:
        """Set `timeout` in milliseconds, which has no effect."""
        return self._set(CANCELLATION_TIMEOUT, length_of(timeout, "set_task_cancellation_timeout"))

    def enable_force_kryo(self) -> ExecutionConfig:
        """Set the flag, which has no effect."""
        return self._switch(FORCE_KRYO, on=True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Unset the flag, which has no effect."""
        return self._switch(FORCE_KRYO, on=False)

    def is_force_kryo_enabled(self) -> bool:
        """Return the flag that was set."""
        return self._configuration.get(FORCE_KRYO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Set the flag, which has no effect."""
        return self._switch(GENERIC_TYPES, on=True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Unset the flag, which has no effect: records without a declared type are pickled."""
        return self._switch(GENERIC_TYPES, on=False)

    def has_generic_types_disabled(self) -> bool:
        """Return whether the flag was unset."""
        return not self._configuration.get(GENERIC_TYPES)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Generate a uid for operators without one; the default."""
        return self._switch(AUTO_UIDS, on=True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse a program whose operators have no uid; the error lists them."""
        return self._switch(AUTO_UIDS, on=False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether uids are generated."""
        return self._configuration.get(AUTO_UIDS)

    def enable_force_avro(self) -> ExecutionConfig:
        """Set the flag, which has no effect."""
        return self._switch(FORCE_AVRO, on=True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Unset the flag, which has no effect."""
        return self._switch(FORCE_AVRO, on=False)

    def is_force_avro_enabled(self) -> bool:
        """Return the flag that was set."""
        return self._configuration.get(FORCE_AVRO)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Share records between the operators of a task, whatever their functions do with them."""
        return self._switch(OBJECT_REUSE, on=True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy records, unless attributes of operators and functions rule out a change."""
        return self._switch(OBJECT_REUSE, on=False)

    def is_object_reuse_enabled(self) -> bool:
        """Return whether records are shared."""
        return self._configuration.get(OBJECT_REUSE)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that functions read with `get_job_parameter`."""
        return job_parameters(self._configuration)

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, object]
    ) -> ExecutionConfig:
        """Replace the parameters that functions read with `get_job_parameter`.

        Args:
            global_job_parameters_dict: Name to value; values are converted to text.
        """
        set_job_parameters(self._configuration, global_job_parameters_dict)
        return self

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return an empty dictionary: there is no Kryo."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Return an empty list: there is no Kryo."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return an empty list: there are no Java objects."""
        return []

    def is_use_snapshot_compression(self) -> bool:
        """Return the flag that was set."""
        return self._configuration.get(SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(
        self,
        use_snapshot_compression: bool,  # noqa: FBT001 - as in PyFlink
    ) -> ExecutionConfig:
        """Set `use_snapshot_compression`, which has no effect."""
        return self._set(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def _set(self, option: ConfigOption[Any], value: object) -> ExecutionConfig:
        self._configuration.set(option, value)
        self._configuration.get(option)  # refuses a value here, at the line that sets it
        return self

    def _switch(self, option: ConfigOption[bool], *, on: bool) -> ExecutionConfig:
        return self._set(option, on)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        """Return a hash of what is set now, as PyFlink does: it changes with the next setting."""
        return hash(self._configuration)
