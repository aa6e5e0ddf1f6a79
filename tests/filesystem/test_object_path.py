"""Names of objects, as users write them."""

from __future__ import annotations

import pytest

from penstock.errors import ArgumentError
from penstock.filesystem.object_path import AZURE, GOOGLE, ObjectPath, object_path

HOST = "shop.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3://sales/a/b", ObjectPath("sales", "a/b")),
        ("s3a://sales/a/b/", ObjectPath("sales", "a/b")),
        ("s3n://sales//a///b", ObjectPath("sales", "a/b")),
        ("S3://sales", ObjectPath("sales")),
        ("s3a://sales/", ObjectPath("sales")),
        ("s3://my.bucket-1/100% ?#x", ObjectPath("my.bucket-1", "100% ?#x")),
        ("/data/out", None),
        ("s3/data", None),
        ("file:///data", None),
        ("gs://sales/a", ObjectPath("sales", "a", GOOGLE)),
        ("GS://sales", ObjectPath("sales", "", GOOGLE)),
        (f"abfss://a-b@{HOST}/x//y", ObjectPath(f"a-b@{HOST}", "x/y", AZURE)),
        ("wasb://$web@shop.blob.core.windows.net", ObjectPath(f"$web@{HOST}", "", AZURE)),
        ("hdfs://name/a", None),
    ],
)
def test_the_schemes_of_hadoop_name_the_same_objects(text: str, found: ObjectPath | None) -> None:
    assert object_path(text, "write files to") == found


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3:///a",
        "s3://a b/c",
        "s3://x",
        "s3://a/../b",
        "s3a://a/./b",
        "gs://x",
        "abfss://sales/x",
        f"abfss://S@{HOST}",
        "abfss://a@b/c",
    ],
)
def test_what_is_no_name_of_an_object_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        object_path(text, "write files to")


@pytest.mark.parametrize(
    "text",
    [
        "s3a://AKIA:s3cr3t@sales/a",
        "gs://AKIA:s3cr3t@sales/a",
        f"abfss://AKIA:s3cr3t@sales@{HOST}/a",
    ],
)
def test_a_login_in_a_path_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ArgumentError, match="login") as caught:
        object_path(text, "write files to")
    assert "s3cr3t" not in str(caught.value)
    assert "AKIA" not in str(caught.value)


def test_paths_have_a_text_and_names_below_them() -> None:
    top = ObjectPath("sales")
    assert str(top) == "s3://sales"
    assert (top / "a", (top / "a") / "b.json") == (
        ObjectPath("sales", "a"),
        ObjectPath("sales", "a/b.json"),
    )
    assert (top.prefix, (top / "a").prefix, (top / "a/b").name) == ("", "a/", "b")
    assert object_path(str(top / "a/b"), "read") == top / "a/b"
    azure = ObjectPath(f"sales@{HOST}", "a", AZURE)
    assert object_path(str(azure / "b"), "read") == azure / "b"
    assert (azure / "b").parent == azure
