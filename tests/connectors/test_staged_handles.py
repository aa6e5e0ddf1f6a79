"""Handles in records of epochs: a driver that starts reads those of the version before."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.connectors.delta.staged_tables import StagedTable
from penstock.connectors.files.staged_files import SmallFile, StagedFile
from penstock.connectors.files.uploaded_files import UploadedFile
from penstock.connectors.postgres.staged_rows import StagedRows
from penstock.connectors.staged import BytesInFile, KeptBytes
from penstock.filesystem.object_store import UploadPart

RECORDED: dict[bytes, Any] = {
    b"\x80\x05\x95<\x00\x00\x00\x00\x00\x00\x00\x8c\x1apenstock.connectors.staged\x94\x8c\tKeptBytes\x94"
    b"\x93\x94)\x81\x94]\x94(K\x03C\x03abc\x94eb.": KeptBytes(3, b"abc"),
    b"\x80\x05\x95>\x00\x00\x00\x00\x00\x00\x00\x8c\x1apenstock.connectors.staged\x94\x8c\x0bBytesInFile"
    b"\x94\x93\x94)\x81\x94]\x94(\x8c\x01f\x94K\x03K\x07eb.": BytesInFile("f", 3, 7),
    b"\x80\x05\x95K\x00\x00\x00\x00\x00\x00\x00\x8c(penstock.connectors.postgres.staged_rows\x94\x8c\n"
    b"StagedRows\x94\x93\x94)\x81\x94]\x94(\x8c\x01t\x94K\x03K\teb.": StagedRows("t", 3, 9),
    b"\x80\x05\x95Z\x00\x00\x00\x00\x00\x00\x00\x8c'penstock.connectors.delta.staged_tables\x94\x8c\x0b"
    b"StagedTable\x94\x93\x94)\x81\x94]\x94(\x8c\x01n\x94K\x03K\x00K\x05K\x07\x8c\x03day\x94N\x86\x94\x85"
    b"\x94eb.": StagedTable("n", 3, 0, 5, 7, (("day", None),)),
    b"\x80\x05\x95I\x00\x00\x00\x00\x00\x00\x00\x8c&penstock.connectors.files.staged_files\x94\x8c\n"
    b"StagedFile\x94\x93\x94)\x81\x94]\x94(\x8c\x01n\x94K\x05K\x07eb.": StagedFile("n", 5, 7),
    b"\x80\x05\x95H\x00\x00\x00\x00\x00\x00\x00\x8c&penstock.connectors.files.staged_files\x94\x8c\t"
    b"SmallFile\x94\x93\x94)\x81\x94]\x94(\x8c\x01n\x94K\x05K\x07eb.": SmallFile("n", 5, 7),
    b"\x80\x05\x95\x97\x00\x00\x00\x00\x00\x00\x00\x8c(penstock.connectors.files.uploaded_files\x94\x8c\x0c"
    b"UploadedFile\x94\x93\x94)\x81\x94]\x94(\x8c\x01n\x94\x8c\x01u\x94\x8c penstock.filesystem.object_store"
    b"\x94\x8c\nUploadPart\x94\x93\x94)\x81\x94]\x94(K\x01\x8c\x01e\x94\x8c\x01c\x94eb\x85\x94K\x05K\x07eb.": (
        UploadedFile("n", "u", (UploadPart(1, "e", "c"),), 5, 7)
    ),
}
"""Pickle in a record to its handle. Rows are only added."""


@pytest.mark.parametrize("handle", RECORDED.values(), ids=lambda handle: type(handle).__name__)
def test_a_handle_of_a_record_is_read(handle):
    packed = next(packed for packed, found in RECORDED.items() if found is handle)
    assert pickle.loads(packed) == handle
    assert type(pickle.loads(packed)) is type(handle)
