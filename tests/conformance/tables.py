"""A stand-in for `pyflink.table`, which some examples read their records from."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock


def module_with(rows: Sequence[Any], row_type: Any) -> ModuleType:
    """Return a module `penstock.table` in which every table has the same rows."""

    class TableEnvironment:
        def __init__(self, environment):
            self._environment = environment

        @classmethod
        def create(cls, stream_execution_environment):
            return cls(stream_execution_environment)

        def create_temporary_table(self, path, descriptor):
            assert path == "source"

        def from_path(self, path):
            return path

        def to_data_stream(self, table):
            return self._environment.from_collection(rows, type_info=row_type)

    module = ModuleType("penstock.table")
    module.__dict__.update(
        StreamTableEnvironment=TableEnvironment,
        TableDescriptor=MagicMock(),
        Schema=MagicMock(),
        DataTypes=MagicMock(),
    )
    return module
