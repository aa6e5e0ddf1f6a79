"""Connectors of PyFlink that Penstock lacks, because they wrap Java libraries, and their alternatives."""

from __future__ import annotations

from collections.abc import Callable, Collection

from penstock.errors import MissingConnectorError
from penstock.extras import EXTRAS

_SPARK = (
    'Read it with Spark and pass SparkSource(spark.readStream.format("{format}")…load()) to '
    "from_source; write by deriving a Sink, see docs/connectors/python.md."
)

INSTEAD: dict[str, str] = {
    "kafka": "Pass a function of a KafkaRecord to set_deserializer of KafkaSource.builder().",
    "dynamic_kafka": _SPARK.format(format="kafka"),
    "kinesis": _SPARK.format(format="kinesis"),
    "pulsar": _SPARK.format(format="pulsar"),
    "cassandra": "Derive a Sink that writes with the database's Python client.",
    "elasticsearch": "Derive a Sink, or pass a SinkFunction that upserts by id to add_sink.",
    "rabbitmq": "Derive a Sink; a queue that forgets what it delivered cannot be a source.",
    "formats.avro": "Read Avro files with FileSource(path, 'avro').",
    "formats.orc": "Read ORC files with FileSource(path, 'orc').",
    "formats.parquet": "Use FileSource.parquet and FileSink.parquet.",
}
"""Module of PyFlink to its alternative."""

_OLD_NAMES = """\
kafka KafkaRecordDeserializationSchema
dynamic_kafka DynamicKafkaSource DynamicKafkaSourceBuilder KafkaMetadataService
dynamic_kafka KafkaStreamSetSubscriber KafkaStreamSubscriber SingleClusterTopicMetadataService
dynamic_kafka StreamPatternSubscriber
pulsar PulsarSource PulsarSourceBuilder StartCursor StopCursor
rabbitmq RMQConnectionConfig RMQSink RMQSource
"""

OLD_PLACES: dict[str, str] = {
    name: module for module, *names in map(str.split, _OLD_NAMES.splitlines()) for name in names
}
"""Name in `pyflink.datastream.connectors`, which old programs import, to its module."""


def absent(module: str, names: Collection[str] | None = None) -> Callable[[str], object]:
    """Return the `__getattr__` of a module that lacks names of PyFlink."""

    def refuse(name: str) -> object:
        if name.startswith("__") or (names is not None and name not in names):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise MissingConnectorError(
            f"{name} of pyflink's {module} wraps a Java class, which Penstock does not have",
            hint=INSTEAD[module],
        )

    return refuse


def find_connector(name: str) -> object:
    """Return a source or sink of the table of extras; the `__getattr__` of `datastream.connectors`."""
    if name in OLD_PLACES:
        return absent(OLD_PLACES[name])(name)
    for extra in EXTRAS.values():
        for connector in (*extra.sources, *extra.sinks):
            if connector.name == name:
                return connector.load()
    raise AttributeError(f"module 'penstock.datastream.connectors' has no attribute {name!r}")
