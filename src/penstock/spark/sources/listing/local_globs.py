"""Local paths that a glob of Hadoop's matches.

*  ?         any characters, any one, of one name
[a-z] [^a]   one of these, none of these
{a,b/c}      alternatives, which may have slashes
a backslash  makes the next character literal
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from penstock.spark.sources.file_paths import alternatives

_GLOB = re.compile(r"(?<!\\)[*?\[{]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_GROUPS = {"{": "(?:", "}": ")"}


def matching_paths(glob: str) -> list[str]:
    """Return the paths that exist and match, each once, in the order of their names."""
    found: set[str] = set()
    for path in alternatives(glob):
        names = [name for name in path.split("/") if name]
        found.update(_below("/", names))
    return sorted(found)


def _below(directory: str, names: list[str]) -> Iterator[str]:
    """Yield the paths below a directory that match the names one by one."""
    if not names:
        yield directory
        return
    first, *rest = names
    if _GLOB.search(first) is None:
        path = os.path.join(directory, _ESCAPED.sub(r"\1", first))  # noqa: PTH118 - a text is needed
        if os.path.lexists(path):
            yield from _below(path, rest)
        return
    pattern = _compiled(first)
    try:
        found = [name for name in os.listdir(directory) if pattern.fullmatch(name)]  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in found:
        yield from _below(os.path.join(directory, name), rest)  # noqa: PTH118


def _compiled(glob: str) -> re.Pattern[str]:
    """Return the pattern of the names that one name with glob characters matches."""
    made: list[str] = []
    characters = iter(range(len(glob)))
    depth, in_set = 0, False
    for at in characters:
        character = glob[at]
        if character == "\\":
            made.append(re.escape(glob[next(characters, at)]))
        elif in_set:
            is_first = glob[at - 1] == "["
            made.append("^" if character in "!^" and is_first else character.replace("[", r"\["))
            in_set = character != "]"
        elif character == "[":
            made.append(character)
            in_set = True
        elif character in _GROUPS and (character == "{" or depth):
            depth += 1 if character == "{" else -1
            made.append(_GROUPS[character])
        elif character == "," and depth:
            made.append("|")
        else:
            made.append({"*": ".*", "?": "."}.get(character, re.escape(character)))
    return re.compile("".join(made), re.DOTALL)
