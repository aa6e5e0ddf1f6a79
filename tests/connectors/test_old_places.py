"""Old programs import connectors from `pyflink.datastream.connectors` itself."""

from __future__ import annotations

from importlib import import_module

import pytest

from penstock.connectors.absent import OLD_PLACES
from penstock.datastream import connectors
from penstock.datastream.connectors import file_system, kafka
from penstock.errors import MissingConnectorError

FILES = [
    "BucketAssigner",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]


@pytest.mark.parametrize("name", FILES)
def test_names_of_files_are_in_both_places(name):
    assert getattr(connectors, name) is getattr(file_system, name)


@pytest.mark.parametrize("name", OLD_PLACES)
def test_names_of_java_say_what_to_use_in_both_places(name):
    for module in (connectors, import_module(f"{connectors.__name__}.{OLD_PLACES[name]}")):
        with pytest.raises(MissingConnectorError, match=name) as caught:
            getattr(module, name)
        assert isinstance(caught.value, ImportError)
        assert caught.value.hint


def test_pulsar_is_among_them():
    assert OLD_PLACES["PulsarSource"] == "pulsar"


@pytest.mark.parametrize("name", ["FlinkKafkaConsumer", "FlinkKafkaProducer", "KafkaSource"])
def test_names_of_kafka_are_in_both_places(name):
    assert getattr(connectors, name) is getattr(kafka, name)


def test_other_names_are_not_there():
    assert not hasattr(connectors, "FlinkKafka")
