"""What is set on an environment is given back, and reaches the configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock.common import (
    ConfigOptions,
    Configuration,
    Duration,
    ExecutionConfig,
    RestartStrategies,
    Time,
)
from penstock.datastream import (
    CheckpointingMode,
    CoMapFunction,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    MemorySize,
    PredefinedOptions,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from penstock.errors import ArgumentError, ConfigError, PenstockError
from penstock.plan.options import plan_options


class _Both(CoMapFunction):
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: int) -> int:
        return value


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


PAIRS: list[tuple[Callable[[Any], Any], str, str, Any, Any]] = [
    (lambda e: e, "set_parallelism", "get_parallelism", 3, None),
    (lambda e: e, "set_max_parallelism", "get_max_parallelism", 64, 128),
    (lambda e: e, "set_buffer_timeout", "get_buffer_timeout", 12, 100),
    (lambda e: e, "set_buffer_timeout", "get_buffer_timeout", -1, 100),
    (lambda e: e, "set_default_savepoint_directory", "get_default_savepoint_directory", "/s", None),
    (lambda e: e, "enable_checkpointing", "get_checkpoint_interval", 5000, -1),
    (
        lambda e: e,
        "enable_changelog_state_backend",
        "is_changelog_state_backend_enabled",
        True,
        None,
    ),
    (lambda e: e, "set_default_local_parallelism", "get_default_local_parallelism", 7, None),
    *(
        (lambda e: e.get_checkpoint_config(), *rest)
        for rest in (
            ("set_checkpoint_interval", "get_checkpoint_interval", 700, -1),
            ("set_checkpoint_timeout", "get_checkpoint_timeout", 300, 600_000),
            ("set_min_pause_between_checkpoints", "get_min_pause_between_checkpoints", 9, 0),
            ("set_max_concurrent_checkpoints", "get_max_concurrent_checkpoints", 2, 1),
            (
                "set_tolerable_checkpoint_failure_number",
                "get_tolerable_checkpoint_failure_number",
                2,
                0,
            ),
            ("set_fail_on_checkpointing_errors", "is_fail_on_checkpointing_errors", False, True),
            (
                "set_checkpointing_mode",
                "get_checkpointing_mode",
                CheckpointingMode.AT_LEAST_ONCE,
                CheckpointingMode.EXACTLY_ONCE,
            ),
            (
                "set_externalized_checkpoint_retention",
                "get_externalized_checkpoint_retention",
                ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
                ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
            ),
            (
                "set_aligned_checkpoint_timeout",
                "get_aligned_checkpoint_timeout",
                Duration.of_seconds(3),
                Duration.of_millis(0),
            ),
            (
                "set_alignment_timeout",
                "get_alignment_timeout",
                Duration.of_seconds(3),
                Duration.of_millis(0),
            ),
            ("set_force_unaligned_checkpoints", "is_force_unaligned_checkpoints", True, False),
        )
    ),
    *(
        (lambda e: e.get_config(), *rest)
        for rest in (
            ("set_auto_watermark_interval", "get_auto_watermark_interval", 50, 200),
            ("set_latency_tracking_interval", "get_latency_tracking_interval", 50, 0),
            ("set_task_cancellation_interval", "get_task_cancellation_interval", 50, 30_000),
            ("set_task_cancellation_timeout", "get_task_cancellation_timeout", 50, 180_000),
            ("set_use_snapshot_compression", "is_use_snapshot_compression", True, False),
            ("set_parallelism", "get_parallelism", 5, None),
            ("set_max_parallelism", "get_max_parallelism", 256, 128),
        )
    ),
]


@pytest.mark.parametrize(("of", "setter", "getter", "value", "default"), PAIRS)
def test_what_is_set_is_given_back(
    env: StreamExecutionEnvironment,
    of: Callable[[Any], Any],
    setter: str,
    getter: str,
    value: Any,
    default: Any,
) -> None:
    if default is not None:
        assert getattr(of(env), getter)() == default
    getattr(of(env), setter)(value)
    assert getattr(of(env), getter)() == value
    plan_options(env.get_configuration())


FLAGS = [
    ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled", True),
    ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled", False),
    ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled", False),
    ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", False),
    (
        "enable_auto_generated_uids",
        "disable_auto_generated_uids",
        "has_auto_generated_uids_enabled",
        True,
    ),
]


@pytest.mark.parametrize(("enable", "disable", "getter", "default"), FLAGS)
def test_flags_are_given_back(
    env: StreamExecutionEnvironment, enable: str, disable: str, getter: str, default: bool
) -> None:
    config = env.get_config()
    assert getattr(config, getter)() is default
    assert isinstance(getattr(config, disable)(), ExecutionConfig)
    assert getattr(env.get_config(), getter)() is False
    getattr(config, enable)()
    assert getattr(env.get_config(), getter)() is True


def test_generic_types_are_enabled_until_they_are_not(env: StreamExecutionEnvironment) -> None:
    assert not env.get_config().has_generic_types_disabled()
    assert env.get_config().disable_generic_types().has_generic_types_disabled()


@pytest.mark.parametrize(
    "length", [1500, timedelta(milliseconds=1500), Duration.of_millis(1500), Time(1500)]
)
def test_lengths_come_in_four_types(env: StreamExecutionEnvironment, length: Any) -> None:
    assert env.enable_checkpointing(length).get_checkpoint_interval() == 1500


@pytest.mark.parametrize("length", [-1, 1.5, "1 s", None, True])
def test_what_is_no_length_is_refused(env: StreamExecutionEnvironment, length: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        env.enable_checkpointing(length)
    assert caught.value.origin is not None


def test_configure_reaches_every_view(env: StreamExecutionEnvironment) -> None:
    conf = Configuration()
    conf.set_string("pipeline.operator-chaining", "false")
    conf.set_string("execution.buffer-timeout", "1 min")
    conf.set_string("execution.checkpointing.timeout", "12000 ms")
    conf.set_string("execution.runtime-mode", "BATCH")
    env.configure(conf)
    assert not env.is_chaining_enabled()
    assert env.get_buffer_timeout() == 60_000
    assert env.get_checkpoint_config().get_checkpoint_timeout() == 12_000
    assert plan_options(env.get_configuration()).mode is RuntimeExecutionMode.BATCH


def test_configure_wins_over_other_names_of_a_setting(env: StreamExecutionEnvironment) -> None:
    env.set_buffer_timeout(10)
    env.configure(Configuration().set_string("execution.buffer-timeout", "1 min"))
    assert env.get_buffer_timeout() == 60_000


def test_chaining_is_on_until_it_is_disabled(env: StreamExecutionEnvironment) -> None:
    assert env.is_chaining_enabled()
    assert not env.disable_operator_chaining().is_chaining_enabled()


def test_job_parameters_are_replaced(env: StreamExecutionEnvironment) -> None:
    config = env.get_config().set_global_job_parameters({"a": 1, "b": "x"})
    assert config.get_global_job_parameters() == {"a": "1", "b": "x"}
    assert config.set_global_job_parameters({"c": 2.5}).get_global_job_parameters() == {"c": "2.5"}


def test_job_parameters_may_be_one_text(env: StreamExecutionEnvironment) -> None:
    env.get_configuration().set_string("pipeline.global-job-parameters", "a:1, b:x:y")
    assert env.get_config().get_global_job_parameters() == {"a": "1", "b": "x:y"}
    plan_options(env.get_configuration())


def test_a_state_backend_chooses_the_type(env: StreamExecutionEnvironment) -> None:
    assert env.get_state_backend() is None
    env.set_state_backend(HashMapStateBackend())
    assert isinstance(env.get_state_backend(), HashMapStateBackend)
    env.set_state_backend(EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True))
    assert env.get_configuration().get_string("state.backend.type", None) == "lmdb"
    backend = env.get_state_backend()
    assert isinstance(backend, EmbeddedRocksDBStateBackend)
    assert backend.is_incremental_checkpoints_enabled()
    plan_options(env.get_configuration())


def test_settings_of_rocksdb_are_kept() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/a", "/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_options("a.b.C")
    backend.set_number_of_transfer_threads(8)
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert (backend.get_options(), backend.get_number_of_transfer_threads()) == ("a.b.C", 8)


def test_checkpoint_storage_names_the_directory(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    assert config.get_checkpoint_storage() is None
    config.set_checkpoint_storage(FileSystemCheckpointStorage("/checkpoints", 10))
    assert env.get_configuration().get_string("execution.checkpointing.dir", None) == "/checkpoints"
    found = config.get_checkpoint_storage()
    assert isinstance(found, FileSystemCheckpointStorage)
    assert found.get_checkpoint_path() == "/checkpoints"
    config.set_checkpoint_storage(JobManagerCheckpointStorage())
    assert isinstance(config.get_checkpoint_storage(), JobManagerCheckpointStorage)


def test_a_restart_strategy_is_given_back(env: StreamExecutionEnvironment) -> None:
    for strategy in (
        RestartStrategies.no_restart(),
        RestartStrategies.fixed_delay_restart(3, 10_000),
        RestartStrategies.failure_rate_restart(2, timedelta(seconds=5), 1000),
        RestartStrategies.exponential_delay_restart(100, 2000, restart_attempts=4),
    ):
        env.set_restart_strategy(strategy)
        assert env.get_restart_strategy() == strategy
        plan_options(env.get_configuration())
    fixed = RestartStrategies.fixed_delay_restart(3, 10_000)
    assert fixed.get_delay_between_attempts_interval() == timedelta(seconds=10)


def test_slot_sharing_groups_keep_their_resources(env: StreamExecutionEnvironment) -> None:
    group = (
        SlotSharingGroup.builder("ssg")
        .set_cpu_cores(0.5)
        .set_task_heap_memory_mb(100)
        .set_managed_memory(MemorySize.of_mebi_bytes(1024))
        .set_external_resource("gpu", 1.0)
        .build()
    )
    env.register_slot_sharing_group(group)
    assert group.get_name() == "ssg"
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(0)  # as Flink's builder
    assert group.get_external_resources() == {"gpu": 1.0}
    assert str(group.get_managed_memory()) == "1 gb"


def test_memory_sizes_convert_and_compare() -> None:
    size = MemorySize.of_mebi_bytes(2048)
    assert (size.get_bytes(), size.get_kibi_bytes(), size.get_gibi_bytes()) == (2 << 30, 2 << 20, 2)
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)


def test_dependencies_add_up(env: StreamExecutionEnvironment) -> None:
    env.add_python_file("a.py")
    env.add_python_file("b.zip")
    env.set_python_requirements("r.txt", "packages")
    env.add_python_archive("c.zip", "data")
    env.set_python_executable("python3")
    assert env.get_configuration().to_dict() == {
        "python.files": "a.py,b.zip",
        "python.requirements": "r.txt#packages",
        "python.archives": "c.zip#data",
        "python.executable": "python3",
    }
    with pytest.raises(ArgumentError):
        env.add_python_file("a,b.py")


@pytest.mark.parametrize(
    "key",
    [
        "python.fn-execution.bundle.size",
        "python.execution-mode",
        "taskmanager.numberOfTaskSlots",
        "rest.port",
        "pipeline.jars",
        "python.metric.enabled",
        "state.backend.incremental",
        "pipeline.object-reuse",
    ],
)
def test_keys_of_flink_programs_are_accepted(key: str) -> None:
    boolean = key.endswith(("enabled", "incremental", "reuse"))
    text = "true" if boolean else "1"
    configuration = Configuration().set_string(key, text)
    configuration.validate()
    assert configuration.to_dict()[key] == text


def test_unknown_keys_stay_errors() -> None:
    with pytest.raises(ConfigError):
        Configuration().set_string("python.exectuable", "python3").validate()


def test_the_plan_has_the_shape_of_flinks(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2)
    numbers = env.from_collection([1, 2, 3])
    mapped = numbers.map(lambda n: n).set_parallelism(3)
    mapped.key_by(lambda n: n).map(lambda n: n).name("keyed").rebalance().print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [set(node) for node in nodes] == [
        {"id", "type", "pact", "contents", "parallelism"},
        *[{"id", "type", "pact", "contents", "parallelism", "predecessors"}] * 3,
    ]
    assert [node["pact"] for node in nodes] == ["Data Source", "Operator", "Operator", "Data Sink"]
    assert [node["parallelism"] for node in nodes] == [1, 3, 2, 2]
    edges = [node["predecessors"][0] for node in nodes[1:]]
    assert [edge["ship_strategy"] for edge in edges] == ["REBALANCE", "HASH", "REBALANCE"]
    assert [edge["id"] for edge in edges] == [node["id"] for node in nodes[:3]]


def test_the_two_inputs_of_a_plan_have_sides(env: StreamExecutionEnvironment) -> None:
    first, second = env.from_collection([1]), env.from_collection([2])
    joined = first.connect(second).map(_Both())
    joined.print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    (node,) = (node for node in nodes if len(node.get("predecessors", ())) == 2)
    assert [edge["side"] for edge in node["predecessors"]] == ["first", "second"]


@pytest.mark.parametrize("parallelism", [0, -3, 1.5, "many"])
def test_a_parallelism_that_cannot_be_is_refused_at_once(
    env: StreamExecutionEnvironment, parallelism: Any
) -> None:
    with pytest.raises(ConfigError):
        env.set_parallelism(parallelism)


def test_the_default_parallelism_comes_back(env: StreamExecutionEnvironment) -> None:
    default = env.get_parallelism()
    env.set_parallelism(default + 1).set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)
    assert env.get_parallelism() == default


def test_a_closed_environment_has_forgotten_its_program(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    env.close()
    with pytest.raises(PenstockError) as caught:
        env.plan()
    assert caught.value.code == "GRAPH_EMPTY"


def test_a_program_may_declare_options_of_its_own() -> None:
    size = ConfigOptions.key("my.size").int_type().default_value(3)
    name = ConfigOptions.key("my.name").string_type().no_default_value()
    conf = Configuration()
    assert (conf.get(size), conf.get(name)) == (3, None)
    assert conf.set(size, 4).get(size) == 4
