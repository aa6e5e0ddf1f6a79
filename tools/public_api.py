"""The public names of the package, one per line, and how those of two versions differ.

    python -m tools.public_api          prints the names of this version
    python -m tools.public_api write    writes docs/api/VERSION.txt, for a release

Public is what `__all__` of these modules names, and the public members of classes there:

    penstock, penstock.inspection, penstock.metrics, penstock.testing
    penstock.common and penstock.datastream, with all their modules
    penstock.errors: the errors

A line says how a name is used, without annotations, which change nothing for a program that runs:

    class penstock.common.Row(*values, **fields)
    def penstock.common.Row.as_dict(self, recursive=False)
    alias penstock.common.typeinfo.Row = penstock.common.Row

A class that is exported from several modules is listed at the shortest name, and the others are aliases.
Members of a base class that is listed are not repeated; the bases are in the line of the class.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from packaging.version import Version

import penstock
from penstock import errors
from penstock.version import __version__

ROOT = Path(penstock.__file__).parent
RELEASES = Path(__file__).parents[1] / "docs" / "api"
FACADES = ("common", "datastream")
SINGLE = ("penstock", "penstock.inspection", "penstock.metrics", "penstock.testing")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NAME = re.compile(r"^\w+ ([\w.]+)")


@dataclass(frozen=True, slots=True)
class Differences:
    """What a program may notice between two versions.

    Attributes:
        removed: Names that are gone.
        changed: Names that are used in another way.
        added: Names that are new.
    """

    removed: tuple[str, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]

    def unexplained(self, changelog: str) -> list[str]:
        """Return the removed and changed names that a changelog does not have in backticks.

        Args:
            changelog: What `explanation` returns. It may name a member as `Row.as_dict`, or the class.
        """
        words = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`\n]+)`", changelog))))
        return [name for name in (*self.removed, *self.changed) if not _forms(name) & words]


def public_modules() -> list[str]:
    """Return the modules whose `__all__` is public."""
    found = list(SINGLE)
    for package in FACADES:
        paths = sorted((ROOT / package).rglob("*.py"))
        dotted = (".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in paths)
        found += [name.removesuffix(".__init__") for name in dotted]
    return found


def public_names() -> list[str]:
    """Return a line for each public name, in order."""
    places: dict[int, list[str]] = {}
    objects: dict[str, Any] = {}
    for name in public_modules():
        module = importlib.import_module(name)
        for each in module.__all__:
            objects[f"{name}.{each}"] = getattr(module, each)
    objects |= {f"penstock.errors.{each.__name__}": each for each in _errors(errors)}
    for name, value in objects.items():
        if isinstance(value, type) or callable(value):
            places.setdefault(id(value), []).append(name)
    first = {key: min(names, key=lambda n: (n.count("."), n)) for key, names in places.items()}
    lines: list[str] = []
    for name, value in objects.items():
        place = first.get(id(value), name)
        lines += [f"alias {name} = {place}"] if place != name else _lines(name, value, first)
    return sorted(lines, key=lambda line: (_NAME.findall(line), line))


def differences(before: list[str], now: list[str]) -> Differences:
    """Return how the names of two versions differ."""
    old, new = _by_name(before), _by_name(now)
    return Differences(
        tuple(name for name in old if name not in new),
        tuple(name for name in old if name in new and not still_fits(old[name], new[name])),
        tuple(name for name in new if name not in old),
    )


def still_fits(before: str, now: str) -> bool:
    """Return whether every use of a name fits its new line: only parameters with defaults were added, at the end.

    Examples:
        >>> still_fits("def f(a, *, b=1)", "def f(a, *, b=1, c=2)")
        True
        >>> still_fits("def f(a, b=1)", "def f(a, c=2, b=1)")
        False
    """
    (head, old, tail), (new_head, new, new_tail) = _parts(before), _parts(now)
    added = new[len(old) :]
    return (head, old, tail) == (new_head, new[: len(old)], new_tail) and all(
        each in {"*", "/"} or "=" in each for each in added
    )


def last_release(directory: Path = RELEASES) -> Path:
    """Return the file of the greatest version."""
    return max(directory.glob("*.txt"), key=lambda path: tuple(map(int, path.stem.split("."))))


def explanation(changelog: str, fragments: Iterable[str], release: str) -> str:
    """Return what explains how names differ from those of a release.

    That is every fragment of `changes/`, and the first section of the changelog if it is of a later version.

    Args:
        changelog: The text of `CHANGELOG.md`.
        fragments: The texts of the fragments.
        release: The version whose names are compared.
    """
    section = changelog.split("\n## ")[1]
    texts = [section] if Version(section.split()[0]) > Version(release) else []
    return "\n".join([*texts, *fragments])


def _lines(name: str, value: Any, first: dict[int, str]) -> Iterator[str]:
    if not isinstance(value, type):
        yield f"def {name}{_signature(value)}" if callable(value) else f"value {name}"
        return
    bases = [first[id(base)] for base in value.__mro__[1:] if id(base) in first]
    derived = f" < {', '.join(bases)}" if bases else ""
    if issubclass(value, Enum):
        yield f"enum {name}{derived}"
        yield from (f"member {name}.{member}" for member in value.__members__)
    else:
        yield f"class {name}{_signature(value)}{derived}"
    for member in sorted(dir(value)):
        owner = next((base for base in value.__mro__ if member in vars(base)), None)
        is_ours = owner is not None and owner.__module__.startswith("penstock")
        is_listed = owner is not value and id(owner) in first
        if is_ours and not is_listed and not member.startswith("_"):
            yield from _member(f"{name}.{member}", vars(owner)[member])


def _member(name: str, value: Any) -> Iterator[str]:
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if inspect.isfunction(function):
        yield f"def {name}{_signature(function)}"
    elif isinstance(value, property):
        yield f"property {name}"
    elif isinstance(value, type):
        yield f"class {name}{_signature(value)}"
        for member, inner in sorted(vars(value).items()):
            if not member.startswith("_"):
                yield from _member(f"{name}.{member}", inner)


def _signature(value: Any) -> str:
    """Return parameters and defaults; `(…)` if the language does not tell them."""
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        return "(…)"
    empty = inspect.Parameter.empty
    bare = [parameter.replace(annotation=empty) for parameter in found.parameters.values()]
    text = str(inspect.Signature(bare))
    return _ADDRESS.sub("", text)


def _parts(line: str) -> tuple[str, list[str], str]:
    """Return what is before the parameters, the parameters, and what is behind them."""
    head, _, rest = line.partition("(")
    parameters, depth = [""], 1
    for at, char in enumerate(rest):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return head, [each.strip() for each in parameters if each.strip()], rest[at + 1 :]
        if char == "," and depth == 1:
            parameters.append("")
        else:
            parameters[-1] += char
    return line, [], ""


def _errors(module: ModuleType) -> list[type]:
    found = [value for value in vars(module).values() if isinstance(value, type)]
    return [each for each in found if issubclass(each, module.PenstockError)]


def _by_name(lines: list[str]) -> dict[str, str]:
    return {_NAME.findall(line)[0]: line for line in lines}


def _forms(name: str) -> set[str]:
    """Return how a changelog may call a name: whole, by class and member, by class, by its last part."""
    parts = name.split(".")
    lowest = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    return {name, *(".".join(parts[lowest:end]) for end in range(lowest + 1, len(parts) + 1))}


def main() -> None:
    """Print the names, or write them for a release."""
    text = "".join(f"{line}\n" for line in public_names())
    if sys.argv[1:] == ["write"]:
        RELEASES.mkdir(exist_ok=True)
        (RELEASES / f"{__version__}.txt").write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
