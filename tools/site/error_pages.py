"""A page for each error code: what it means, every message there is, and what to do."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import penstock
from penstock import errors
from penstock.cli.init import ProjectExistsError
from penstock.cli.plan import NoJobError

ROOT = Path(penstock.__file__).parent

_HEAD = """\
# Error messages

An error of Penstock has a code, says what is wrong, what to do, and the line of the program that made the operator at fault.
Every code has a page with every message, and `…` where a message has values of the program. Pages are made from the source when the site is built.

{rows}
"""


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """One place that raises an error.

    Attributes:
        problem: What it says, with `…` for values.
        hint: What to do, likewise.
        module: The file, below the package.
    """

    problem: str
    hint: str
    module: str


def catalogue() -> dict[str, type[errors.PenstockError]]:
    """Return all errors by code."""
    own = (each for each in vars(errors).values() if inspect.isclass(each))
    found: list[type[errors.PenstockError]] = [ProjectExistsError, NoJobError]
    found += (each for each in own if issubclass(each, errors.PenstockError))
    return {each.code: each for each in found}


@cache
def messages() -> dict[str, list[Message]]:
    """Return the messages of each code, in order of their text; they are found once, by reading all sources."""
    names = {each.__name__: code for code, each in catalogue().items()}
    found: dict[str, set[Message]] = defaultdict(set)
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (code := names.get(_called(node))) and node.args:
                hint = next((each.value for each in node.keywords if each.arg == "hint"), None)
                said, fix = text_of(node.args[0]), "" if hint is None else text_of(hint)
                if said.strip(" …"):
                    found[code].add(Message(said, fix, module))
    return {code: sorted(of) for code, of in found.items()}


def text_of(node: ast.expr) -> str:
    """Return the text that an expression gives, with `…` for what only a run knows.

    Examples:
        >>> text_of(ast.parse("f'no {name} in ' + place", mode="eval").body)
        'no … in …'
    """
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return "…"


def render_errors() -> dict[str, str]:
    """Return the pages as markdown, by path: the list of codes, and a page for each."""
    of_code = messages()
    rows: list[str] = []
    pages: dict[str, str] = {}
    for code, error in sorted(catalogue().items()):
        said = of_code.get(code, [])
        meaning = (inspect.getdoc(error) or "").partition("\n")[0]
        rows.append(f"* [`{code}`](errors/{code.lower()}.md) {meaning}{_counted(len(said))}")
        pages[f"reference/errors/{code.lower()}.md"] = "\n".join(_page(code, error, said)) + "\n"
    pages["reference/errors.md"] = _HEAD.format(rows="\n".join(rows))
    return pages


def _page(code: str, error: type[errors.PenstockError], said: list[Message]) -> Iterator[str]:
    caught = [each.__name__ for each in error.__mro__ if issubclass(each, Exception)]
    yield f"# {code}\n"
    yield f"{(inspect.getdoc(error) or '').partition('Attributes:')[0].strip()}\n"
    yield f"Caught as {', '.join(f'`{name}`' for name in caught if name != 'Exception')}. [All codes](../errors.md).\n"
    if not said:
        yield "It is raised with the text of what led to it, or only through the codes below it."
        return
    yield "What it says, and what to do:\n"
    yield from (
        f"* **{_plain(each.problem)}**<br>{_plain(each.hint)}<br>`{each.module}`" for each in said
    )


def _counted(number: int) -> str:
    return "" if not number else f" ({number} message{'s' if number > 1 else ''})"


def _called(node: ast.Call) -> str:
    named = node.func
    if isinstance(named, ast.Attribute) and named.attr == "here":
        named = named.value
    return named.id if isinstance(named, ast.Name) else ""


def _plain(text: str) -> str:
    quoted = text.translate({ord(each): f"&#{ord(each)};" for each in "|<>*_`[]\\"})
    return " ".join(quoted.split())
