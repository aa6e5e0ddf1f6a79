"""Types, configurations and other values, as PyFlink's own tests expect them."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from typing import Any

import pytest

from penstock.common import Configuration, ExecutionConfig, Row, Types
from penstock.common.serialization import RowFieldExtractorSchema
from penstock.common.typeinfo import RowTypeInfo, TupleTypeInfo
from penstock.config.options import CHECKPOINT_DIR
from penstock.datastream import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    PredefinedOptions,
    StateBackend,
    StreamExecutionEnvironment,
)
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.errors import ArgumentError, TypeMismatchError

STRING, INT = Types.STRING(), Types.INT()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_a_row_type_is_a_value() -> None:
    named = RowTypeInfo([STRING, INT], ["a", "b"])
    assert str(named) == "RowTypeInfo(a: String, b: Integer)"
    assert named == Types.ROW_NAMED(["a", "b"], [STRING, INT])
    assert hash(named) == hash(Types.ROW_NAMED(["a", "b"], [STRING, INT]))
    assert named != RowTypeInfo([STRING, STRING], ["a", "b"])
    assert named != RowTypeInfo([STRING, INT])
    assert RowTypeInfo([STRING, INT]).get_field_names() == ["f0", "f1"]
    assert str(RowTypeInfo([named])) == "RowTypeInfo(f0: Row(a: String, b: Integer))"


def test_a_tuple_type_is_a_value() -> None:
    pair = TupleTypeInfo([STRING, INT])
    assert str(pair) == "TupleTypeInfo(String, Integer)"
    assert pair == Types.TUPLE([STRING, INT])
    assert hash(pair) == hash(Types.TUPLE([STRING, INT]))
    assert pair != TupleTypeInfo([STRING, STRING])
    other: object = RowTypeInfo([STRING, INT])
    assert pair != other


def configured() -> Configuration:
    return (
        Configuration()
        .set_string("k1", "v1")
        .set_integer("k2", 1)
        .set_float("k3", 1.2)
        .set_boolean("k4", True)
        .set_bytearray("k5", bytearray([1, 2, 3]))
    )


def typed(configuration: Configuration) -> dict[str, Any]:
    found: dict[str, Any] = {}
    configuration.add_all_to_dict(found)
    return found


TYPED = {"k1": "v1", "k2": 1, "k3": 1.2, "k4": True, "k5": bytearray([1, 2, 3])}


def test_a_configuration_gives_back_what_was_set() -> None:
    found = typed(configured())
    assert found == TYPED
    assert {key: type(value) for key, value in found.items()} == {
        key: type(value) for key, value in TYPED.items()
    }
    assert configured().to_dict() == {
        "k1": "v1",
        "k2": "1",
        "k3": "1.2",
        "k4": "true",
        "k5": "AQID",
    }


def test_copies_know_it_too() -> None:
    assert typed(Configuration(configured())) == TYPED
    assert typed(deepcopy(configured())) == TYPED
    assert typed(Configuration().add_all(configured())) == TYPED
    assert typed(Configuration().add_all(configured(), "x.")) == {
        f"x.{key}": value for key, value in TYPED.items()
    }
    changed = configured().set_string("k2", "two")
    assert typed(changed)["k2"] == "two"
    assert changed.remove_config("k3")
    assert "k3" not in typed(changed)
    assert typed(configured().layered("above", {"k2": "7"}))["k2"] == "7"


def test_equal_configurations_have_equal_hashes() -> None:
    one, other = configured(), configured()
    assert one == other
    assert hash(one) == hash(other)
    other.set_integer("k2", 2)
    assert one != other
    assert hash(one) != hash(other)


def test_a_configuration_is_printed_with_its_values() -> None:
    short = Configuration().set_string("k1", "v1").set_integer("k2", 1)
    assert str(short) == "{k1=v1, k2=1}"


@pytest.mark.parametrize(
    "key",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.ssl.keyPassword",
        "fs.azure.account.key.x",
        "my.Token",
    ],
)
def test_secrets_are_not_printed(key: str) -> None:
    configuration = Configuration().set_string(key, "hush")
    assert str(configuration) == f"{{{key}=******}}"
    assert "hush" not in repr(configuration)


@pytest.mark.parametrize(
    ("text", "yaml", "plain"),
    [
        (None, [], []),
        ("jar1;jar2;jar3", ["jar1", "jar2", "jar3"], ["jar1", "jar2", "jar3"]),
        ("[jar1, jar2, jar3]", ["jar1", "jar2", "jar3"], ["[jar1, jar2, jar3]"]),
        ("- jar1\n- jar2\n- jar3", ["jar1", "jar2", "jar3"], ["- jar1\n- jar2\n- jar3"]),
        ("\n- 'jar 1'\n\n- \"jar2\"\n", ["jar 1", "jar2"], ["- 'jar 1'\n\n- \"jar2\""]),
        ("- jar1", ["jar1"], ["- jar1"]),
        ("-jar1", ["-jar1"], ["-jar1"]),
    ],
)
def test_lists_may_be_those_of_yaml(text: str | None, yaml: list[str], plain: list[str]) -> None:
    assert Configuration.parse_list_value(text) == yaml
    assert Configuration.parse_list_value(text, True) == yaml
    assert Configuration.parse_list_value(text, False) == plain


def execution_config() -> ExecutionConfig:
    return StreamExecutionEnvironment.get_execution_environment().get_config()


def test_an_execution_config_is_a_value() -> None:
    one, other = execution_config(), execution_config()
    assert one == other
    assert hash(one) == hash(other)
    one.set_parallelism(12)
    other.set_parallelism(11)
    assert one != other
    assert hash(one) != hash(other)
    other.set_parallelism(12)
    assert one == other
    assert hash(one) == hash(other)


def test_a_slot_sharing_group_has_what_was_set() -> None:
    sizes = [MemorySize.of_mebi_bytes(n) for n in (100, 200, 300)]
    group = (
        SlotSharingGroup.builder("g")
        .set_cpu_cores(1.0)
        .set_task_heap_memory(sizes[0])
        .set_task_off_heap_memory(sizes[1])
        .set_managed_memory(sizes[2])
        .set_external_resource("gpu", 1.0)
        .build()
    )
    memory = (
        group.get_task_heap_memory(),
        group.get_task_off_heap_memory(),
        group.get_managed_memory(),
    )
    assert memory == tuple(sizes)
    assert group.get_external_resources() == {"gpu": 1.0}
    least = SlotSharingGroup.builder("g").set_cpu_cores(1).set_task_heap_memory_mb(1).build()
    assert least.get_managed_memory() == least.get_task_off_heap_memory() == MemorySize(0)


def test_a_slot_sharing_group_without_resources_has_none() -> None:
    group = SlotSharingGroup.builder("g").build()
    assert group.get_name() == "g"
    assert group.get_cpu_cores() is None
    assert group.get_task_heap_memory() is None
    assert group.get_task_off_heap_memory() is None
    assert group.get_managed_memory() is None
    assert group.get_external_resources() == {}


@pytest.mark.parametrize(
    "build",
    [
        lambda group: group.set_cpu_cores(1.0).set_task_heap_memory(MemorySize(bytes_size=0)),
        lambda group: group.set_cpu_cores(0.0),
        lambda group: group.set_cpu_cores(-1.0),
        lambda group: group.set_cpu_cores("1"),
        lambda group: group.set_cpu_cores(float("nan")),
        lambda group: group.set_task_heap_memory(1),
        lambda group: group.set_managed_memory(1),
        lambda group: group.set_task_off_heap_memory(None),
        lambda group: group.set_external_resource("gpu", 0.0),
        lambda group: group.set_cpu_cores(1.0).build(),
        lambda group: group.set_cpu_cores(1.0).set_task_off_heap_memory_mb(10).build(),
        lambda group: group.set_task_heap_memory_mb(10).build(),
        lambda group: group.set_managed_memory_mb(10).build(),
        lambda group: group.set_external_resource("gpu", 1.0).build(),
    ],
)
def test_illegal_and_missing_resources_are_refused(build: Any) -> None:
    with pytest.raises(ArgumentError) as refused:
        build(SlotSharingGroup.builder("g"))
    assert refused.value.hint
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("file://var/checkpoints/", "file://var/checkpoints"),
        ("/tmp/checkpoints", "/tmp/checkpoints"),
        ("relative/", "relative"),
        ("/", "/"),
        ("file:///", "file:///"),
    ],
)
def test_the_path_of_a_checkpoint_storage_is_kept(
    env: StreamExecutionEnvironment, given: str, kept: str
) -> None:
    storage = FileSystemCheckpointStorage(given)
    assert storage.get_checkpoint_path() == kept
    env.get_checkpoint_config().set_checkpoint_storage(storage)
    found = env.get_checkpoint_config().get_checkpoint_storage()
    assert found is not None
    assert found.get_checkpoint_path() == kept
    assert env.get_configuration().get(CHECKPOINT_DIR) == kept


def test_the_wrapper_of_java_backends_can_be_named_and_not_made() -> None:
    assert issubclass(CustomStateBackend, StateBackend)
    assert not isinstance(EmbeddedRocksDBStateBackend(), CustomStateBackend)
    with pytest.raises(ArgumentError, match="Java"):
        CustomStateBackend()


def test_the_options_of_the_rocksdb_backend_are_kept() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    for options in PredefinedOptions:
        backend.set_predefined_options(options)
        assert backend.get_predefined_options() is options
    assert backend.get_options() is None
    backend.set_options("org.example.Factory")
    assert backend.get_options() == "org.example.Factory"


def test_a_field_of_a_row_is_its_bytes() -> None:
    row = Row(b"key", bytearray(b"value"), 42, None)
    assert RowFieldExtractorSchema(0).serialize(row) == b"key"
    assert RowFieldExtractorSchema(1).serialize(row) == b"value"
    assert RowFieldExtractorSchema(0).serialize((b"key",)) == b"key"
    assert RowFieldExtractorSchema(3).serialize(row) == b""
    assert RowFieldExtractorSchema(0).serialize(None) == b""
    for schema, found in [(2, row), (4, row), (0, b"key")]:
        with pytest.raises(TypeMismatchError):
            RowFieldExtractorSchema(schema).serialize(found)
    for position in (-1, True, "a"):
        with pytest.raises(ArgumentError):
            RowFieldExtractorSchema(position)  # type: ignore[arg-type]


def nodes_of(env: StreamExecutionEnvironment) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(env.get_execution_plan())["nodes"]
    return nodes


def test_a_projection_is_called_so_in_the_plan(env: StreamExecutionEnvironment) -> None:
    four = env.from_collection([(1, 2, 3, 4)], type_info=Types.TUPLE([INT] * 4))
    four.project(1, 3).map(lambda pair: pair[0]).print()
    assert nodes_of(env)[1]["type"] == "Projection"


@pytest.mark.parametrize("nested", [False, True])
def test_a_union_is_its_streams_in_the_plan(
    env: StreamExecutionEnvironment,
    nested: bool,
) -> None:
    one, two, three = (env.from_collection([n]) for n in range(3))
    united = three.union(one).union(two) if nested else three.union(one, two)
    united.map(lambda n: n).print()
    nodes = nodes_of(env)
    sources = [node["id"] for node in nodes if node["pact"] == "Data Source"]
    (mapped,) = [node for node in nodes if node["pact"] == "Operator"]
    assert sorted(edge["id"] for edge in mapped["predecessors"]) == sorted(sources)


def test_every_name_can_be_imported_from_pyflinks_places() -> None:
    program = (
        "from penstock.datastream.state_backend import CustomStateBackend, PredefinedOptions\n"
        "from penstock.common.serialization import RowFieldExtractorSchema\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
