"""Listing of local files in one walk, by the rules of Spark's reader, and of local paths that a glob of Hadoop's matches.

| what | is it listed? |
|---|---|
| the files of a directory | yes, unless their names begin with `_` or `.` |
| files in directories below | if there are directories of partitions (`day=7`), or the source is recursive |
| a file that vanishes meanwhile, a link to nothing | no |
| a file with a colon in its name | it is an error: Hadoop could not open it |

`tests/spark/test_listing.py` compares it with Spark's own listing.

    *  ?         any characters, any one, of one name
    [a-z] [^a]   one of these, none of these
    {a,b/c}      alternatives, which may have slashes
    a backslash  makes the next character literal
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from stat import S_ISREG

from penstock.errors import SourceError

GLOB = re.compile(r"(?<!\\)[*?\[{]")
ANY_GLOB = re.compile(r"([\[\]{}*?\\])")
SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")
_BRACES = re.compile(r"(?<!\\)\{((?:[^{}\\]|\\.)*)\}", re.DOTALL)
_COMMA = re.compile(r"(?<!\\),")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_GROUPS = {"{": "(?:", "}": ")"}


def name_of_local(path: str) -> str:
    """Return the name, as `plain` gives it, of the local file with an absolute path."""
    return f"file:{path}"


def local_path(path: str) -> Path | None:
    """Return a path in the user's form if it is local, else None."""
    scheme = SCHEME.match(path)
    if scheme is None:
        return Path(path)
    return Path(path[scheme.end() :]) if scheme[0].startswith("file:") else None


def has_glob(path: str | Path) -> bool:
    """Return whether a path contains glob characters."""
    return ANY_GLOB.search(str(path)) is not None


def is_literal(path: str) -> bool:
    """Return whether a path names one file or directory, although it has glob characters."""
    here = local_path(path)
    return here is not None and here.exists()


def alternatives(path: str) -> Iterable[str]:
    """Return the paths that a glob with a slash inside braces expands to."""
    braces = _BRACES.search(path)
    if braces is None or "/" not in braces[1]:
        head = path[: braces.end()] if braces else path
        tails = alternatives(path[braces.end() :]) if braces else ("",)
        return [f"{head}{tail}" for tail in tails]
    inner = (text for alternative in _COMMA.split(braces[1]) for text in alternatives(alternative))
    tails = alternatives(path[braces.end() :])
    return [f"{path[: braces.start()]}{one}{tail}" for one, tail in product(inner, tails)]


def matching_paths(glob: str) -> list[str]:
    """Return the paths that exist and match, each once, in the order of their names."""
    paths: set[str] = set()
    for path in alternatives(glob):
        names = [name for name in path.split("/") if name]
        paths.update(_below("/", names))
    return sorted(paths)


def _below(directory: str, names: list[str]) -> Iterator[str]:
    """Yield the paths below a directory that match the names one by one."""
    if not names:
        yield directory
        return
    first, *rest = names
    if GLOB.search(first) is None:
        path = os.path.join(directory, ESCAPED.sub(r"\1", first))  # noqa: PTH118 - a text is needed
        if os.path.lexists(path):
            yield from _below(path, rest)
        return
    pattern = _compiled(first)
    try:
        matching = [name for name in os.listdir(directory) if pattern.fullmatch(name)]  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in matching:
        yield from _below(os.path.join(directory, name), rest)  # noqa: PTH118


def _compiled(glob: str) -> re.Pattern[str]:
    """Return the pattern of the names that one name with glob characters matches."""
    parts: list[str] = []
    characters = iter(range(len(glob)))
    depth, in_set = 0, False
    for index in characters:
        character = glob[index]
        if character == "\\":
            parts.append(re.escape(glob[next(characters, index)]))
        elif in_set:
            is_first = glob[index - 1] == "["
            parts.append("^" if character in "!^" and is_first else character.replace("[", r"\["))
            in_set = character != "]"
        elif character == "[":
            parts.append(character)
            in_set = True
        elif character in _GROUPS and (character == "{" or depth):
            depth += 1 if character == "{" else -1
            parts.append(_GROUPS[character])
        elif character == "," and depth:
            parts.append("|")
        else:
            parts.append({"*": ".*", "?": "."}.get(character, re.escape(character)))
    return re.compile("".join(parts), re.DOTALL)


Listed = tuple[int, str, int]
"""Modification time in milliseconds, name as `file_paths.plain` gives it, size. So they sort in the order
in which files are read."""

FILTERS = frozenset({"pathglobfilter", "modifiedbefore", "modifiedafter"})
"""Options with which Spark's listing leaves files out."""

_NS_PER_MS = 1_000_000


def is_hidden(name: str) -> bool:
    """Return whether Spark passes over files and directories of a name."""
    if name.startswith(("_metadata", "_common_metadata")):
        return False
    underlined = name.startswith("_") and "=" not in name
    return underlined or name.startswith(".") or name.endswith("._COPYING_")


@dataclass(slots=True)
class _Walk:
    """Files and directories below one root.

    Attributes:
        is_included: Test whether to list a file of a name.
        shallow: The files directly in it.
        deep: The files of directories below.
        has_partitions: True if a directory of partitions has files.
    """

    root: str
    is_included: Callable[[str], bool]
    shallow: list[Listed] = field(default_factory=list)
    deep: list[Listed] = field(default_factory=list)
    has_partitions: bool = False

    def run(self) -> None:
        """Walk."""
        left = [(self.root, False)]
        while left:
            directory, in_partition = left.pop()
            files = self.shallow if directory == self.root else self.deep
            has_files = False
            for entry in _entries(directory):
                if is_hidden(entry.name):
                    continue
                if entry.is_dir():
                    left.append((entry.path, in_partition or "=" in entry.name))
                    continue
                has_files = True
                if self.is_included(name_of_local(entry.path)):  # first: most are known
                    listed = listed_file(entry.path)
                    files += [] if listed is None else [listed]
            self.has_partitions |= in_partition and has_files


def every_file(_name: str) -> bool:
    """Return True: a file of any name is listed."""
    return True


def list_path(
    path: str, is_included: Callable[[str], bool] = every_file, *, recursively: bool = False
) -> list[Listed] | None:
    """Return the files of a path or glob, none if it does not exist; None if it is in another file system."""
    here = local_path(path)
    if here is None:
        return None
    is_glob = has_glob(here) and not is_literal(path)
    roots = matching_paths(str(here)) if is_glob else [str(here)]
    return list_local(roots, is_included, recursively=recursively)


def list_local(
    roots: Iterable[str],
    is_included: Callable[[str], bool] = every_file,
    *,
    recursively: bool = False,
) -> list[Listed]:
    """Return the files of some paths."""
    roots = list(roots)
    walks: list[_Walk] = []
    files: list[Listed] = []
    for root in roots:
        if os.path.isdir(root):  # noqa: PTH112 - a text is there already, thousands of them of a glob
            walk = _Walk(root, is_included)
            walk.run()
            walks.append(walk)
        elif not is_hidden(os.path.basename(root)) and is_included(name_of_local(root)):  # noqa: PTH119
            listed = listed_file(root)
            files += [] if listed is None else [listed]
    is_deep = recursively or any(walk.has_partitions for walk in walks)
    for walk in walks:
        files += walk.shallow
        if is_deep:
            files += walk.deep
    for _, name, _ in files:
        _check_name(name, roots)
    return files


def listed_file(path: str) -> Listed | None:
    """Return a file as it is now, None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    if not S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns // _NS_PER_MS, name_of_local(path), status.st_size


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):  # it was removed meanwhile
        return


def _check_name(name: str, roots: Iterable[str]) -> None:
    own = name.removeprefix(name_of_local(""))
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError as cause:
            raise SourceError(
                f"{own!a} cannot be read: its name is not UTF-8",
                hint="Rename the file: Java, and so Spark, could not find it.",
            ) from cause
    if ":" not in own:
        return
    root = max((path for path in roots if own.startswith(path)), key=len, default="")
    if ":" in own[len(root) :] or ":" in own.rpartition("/")[2]:
        raise SourceError(
            f"{own} cannot be read: its name has a colon",
            hint="Rename the file: Hadoop, and so Spark, cannot name a file with a colon.",
        )
