"""Numbers of the drivers that commit to a sink in an object store, and the manifests that count.

    drivers/7.json           driver 7 has begun: whoever creates this object has the number
    drivers/7.taken          names of the manifests of earlier drivers that count, seen by driver 7
    commits/<epoch>.7.json   a manifest of driver 7

A store has no rename that could be refused, and a driver that was replaced may wake up at any time. So every driver
takes the next number, which only one can create, and then lists the manifests; those that it sees count for ever, and of
its predecessors no other does. A driver acts on a manifest of its own only if there is no greater number after it has
written the manifest. Two cases are left: it sees no greater number, then the next driver takes its number later, and
lists the manifests still later, so it sees the manifest; or it sees one, and does nothing. It does not matter how
long an answer of the store is under way.

Epochs have no dots in their names, so what is behind the first dot is the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.connectors.files.uploaded_files import ObjectLayout, UploadedFile
from penstock.errors import JobFencedError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore, UploadPart
from penstock.wire.atomic_file import decode_verified, encode_verified


@dataclass(frozen=True, slots=True)
class ObjectManifest:
    """The files of one epoch.

    Attributes:
        epoch: The decided epoch.
        driver: Number of the driver that decided it.
        sequence: Number of the manifest among those of the sink, from 1.
        files: The files.
    """

    epoch: str
    driver: int
    sequence: int
    files: tuple[UploadedFile, ...]

    @property
    def name(self) -> str:
        """Name of the object, without its end."""
        return f"{self.epoch}.{self.driver}"

    def encoded(self) -> bytes:
        """Return the content of the object."""
        files = [
            {
                "name": file.name,
                "upload_id": file.upload_id,
                "parts": [[part.number, part.etag, part.crc32] for part in file.parts],
                "records": file.record_count,
                "bytes": file.byte_count,
            }
            for file in self.files
        ]
        return encode_verified(
            {
                "epoch": self.epoch,
                "driver": self.driver,
                "sequence": self.sequence,
                "files": files,
            }
        )

    @classmethod
    def decoded(cls, data: bytes, path: ObjectPath) -> ObjectManifest:
        """Return the manifest that `encoded` encoded.

        Raises:
            DecodeError: It did not.
        """
        read = decode_verified(data, path)
        files = tuple(
            UploadedFile(
                file["name"],
                file["upload_id"],
                tuple(UploadPart(*part) for part in file["parts"]),
                file["records"],
                file["bytes"],
            )
            for file in read["files"]
        )
        return cls(read["epoch"], read["driver"], read["sequence"], files)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The state in which a driver found the directory when it took its number.

    Attributes:
        number: Its number.
        manifests: The manifests that count, in the order of their sequence.
        done: Names of those that are executed.
        void: Objects that mean nothing.
    """

    number: int
    manifests: tuple[ObjectManifest, ...]
    done: frozenset[str]
    void: tuple[ObjectPath, ...]


def take_over(
    store: ObjectStore, layout: ObjectLayout, may_commit: Callable[[], None]
) -> TakenOver:
    """Take the next number, and find out which manifests count.

    Raises:
        JobFencedError: Another driver has taken the job over.
        DecodeError: A manifest is damaged.
        OSError: The store refused, or cannot be reached.
    """
    before = store.list_below(layout.drivers)
    number = _create_next(store, layout, max(_numbers(before), default=0) + 1, may_commit)
    failpoint("sink.numbered")
    taken = [path for path in store.list_below(layout.drivers) if path.name.endswith(".taken")]
    newest = max(_numbers(taken), default=0)
    kept: frozenset[str] = frozenset()
    if newest:
        path = layout.drivers / f"{newest}.taken"
        kept = frozenset(decode_verified(store.read(path), path)["manifests"])
    objects = {path.name: path for path in store.list_below(layout.commits)}
    counting = [
        name.removesuffix(".json")
        for name in objects
        if name.endswith(".json")
        and (_driver_of(name) >= newest or name.removesuffix(".json") in kept)
    ]
    manifests = [
        ObjectManifest.decoded(store.read(objects[f"{name}.json"]), objects[f"{name}.json"])
        for name in counting
    ]
    path = layout.drivers / f"{number}.taken"
    store.write(path, encode_verified({"manifests": sorted(counting)}))
    failpoint("sink.taken-over")
    useful = {f"{name}.{end}" for name in counting for end in ("json", "done")}
    void = [objects[name] for name in objects if name not in useful]
    void += [path for path in before if path.name.partition(".")[0] != str(number)]
    done = frozenset(name for name in counting if f"{name}.done" in objects)
    ordered = sorted(manifests, key=lambda manifest: manifest.sequence)
    return TakenOver(number, tuple(ordered), done, tuple(void))


def check_newest(store: ObjectStore, layout: ObjectLayout, number: int) -> None:
    """Check that no driver has taken a greater number.

    Raises:
        JobFencedError: One has.
        OSError: The store refused, or cannot be reached.
    """
    newest = max(_numbers(store.list_below(layout.drivers)), default=0)
    if newest != number:
        raise JobFencedError(
            f"another driver has taken {layout.private} over: it has number {newest}, this driver "
            f"had {number}",
            hint="Leave the job to the other driver; nothing this one did since is visible.",
        )


def _create_next(
    store: ObjectStore, layout: ObjectLayout, number: int, may_commit: Callable[[], None]
) -> int:
    """Return the first number from `number` on that nobody has."""
    while True:
        may_commit()
        try:
            store.create(layout.drivers / f"{number}.json", encode_verified({"number": number}))
        except FileExistsError:
            number += 1
        else:
            return number


def _numbers(paths: Iterable[ObjectPath]) -> list[int]:
    return [int(path.name.partition(".")[0]) for path in paths]


def _driver_of(name: str) -> int:
    return int(name.split(".")[1])
