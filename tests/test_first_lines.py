"""First lines of docstrings are noun phrases or imperatives; no text or name of the package lets things speak."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "penstock"
CLAUSES = frozenset(
    [
        "What",
        "Who",
        "Whose",
        "Whether",
        "Of",
        "How",
        "Where",
        "Which",
        "When",
        "Why",
        "If",
        "Everything",
        "Something",
        "Says",
        "Tells",
        "Asks",
        "Knows",
    ]
)
"""Words that begin a clause without a noun, or a sentence in which a thing speaks."""

WORDS = re.compile(
    r"\b(says?|said|tells?|told|asks?|asked|knows?|knew|wants?|wanted|nobody|whoever|nothing of|none of it)\b",
    re.IGNORECASE,
)
"""Words of people. A plan shows, a field contains, a test reports; no operator reads it."""
SENTENCES = re.compile(r"(?:^[rbfRBF]*\W*|[.:;!?]\s+|\n\s*\n\s*)(?:What|Who|Whose|Whoever|Of)\s")
"""Sentences whose subject is a clause. "The commit of an epoch is final", not "What was committed is final"."""

NAMES = frozenset(
    [
        "told",
        "untold",
        "tell",
        "tells",
        "says",
        "said",
        "asks",
        "knows",
        "knew",
        "wants",
        "want",
        "wanted",
        "ask",
        "asked",
        "hear",
        "heard",
    ]
)
"""Words of people that no name of the package has."""

FILLERS = frozenset({"at", "each", "found", "made"})
"""Words for a value that nothing is named by: it has a name of its own, which its reader needs."""

FILE_METHODS = frozenset({"tell"})
"""Names of methods of Python's files."""

PUBLIC = frozenset({"ASK", "asks_driver", "knows_costs"})
"""Names of the public API."""

KEPT = frozenset({("graph/split_source.py", "at"), ("spark/upgrade/handover.py", "at")})
"""Names of the public API and of saved records."""

WRITTEN = frozenset({"STRING", "COMMENT", "FSTRING_MIDDLE"})
"""Tokens that have words."""


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring of a module, classes, functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            before: ast.AST | None = node
            for each in node.body:
                is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
                if is_text and isinstance(before, ast.Assign | ast.AnnAssign | type(node)):
                    value = each.value.value  # type: ignore[attr-defined]
                    if isinstance(value, str):
                        yield each.lineno, value
                before = each


def clauses(source: str) -> list[int]:
    """Return the lines of docstrings that begin with a clause."""
    return [
        line for line, text in texts(ast.parse(source)) if text.split()[0].rstrip(",.:;") in CLAUSES
    ]


def spoken(source: str) -> list[int]:
    """Return the lines of docstrings, comments and messages that have a word of people."""
    return [
        token.start[0] + number
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if tokenize.tok_name[token.type] in WRITTEN
        for number, line in enumerate(token.string.splitlines())
        if WORDS.search(line)
    ]


def headless(source: str) -> list[int]:
    """Return the lines of texts with a sentence whose subject is a clause."""
    return [
        token.start[0] + token.string[: found.end()].count("\n")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if tokenize.tok_name[token.type] in WRITTEN
        for found in SENTENCES.finditer(token.string)
    ]


def named(source: str) -> list[str]:
    """Return the names that have a word of people, with their lines."""
    nodes = ((node, _name(node)) for node in ast.walk(ast.parse(source)))
    return sorted(
        f"{getattr(node, 'lineno', 0)} {name}"
        for node, name in nodes
        if name not in FILE_METHODS | PUBLIC and NAMES & set(name.lower().split("_"))
    )


def filled(source: str) -> list[str]:
    """Return the parameters, variables and attributes that are named by a word for any value, with their lines."""
    defined = (
        (getattr(node, "lineno", 0), _name(node))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
    )
    return [f"{line} {name}" for line, name in defined if name.lstrip("_") in FILLERS]


def _name(node: ast.AST) -> str:
    """Return the name that a node defines or reads; empty if it has none."""
    of_class = {ast.Name: "id", ast.arg: "arg", ast.Attribute: "attr"}
    own = of_class.get(type(node), "name" if hasattr(node, "body") else "")
    return str(getattr(node, own, "")) if own else ""


def test_no_sentence_has_a_clause_as_subject() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in headless(path.read_text())
    ]
    assert found == []


def test_sentences_with_a_clause_as_subject_are_found() -> None:
    source = '"""Rows.\n\nWhat is read is kept. Of these one is.\n"""\na = 1  # What is this?\nb = f"Who {a}"\n'
    assert headless(source) == [3, 3, 5, 6]
    assert headless('"""Rows: what a source gives. The list of Whos."""\n') == []


def test_no_name_has_a_word_of_people() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in named(path.read_text())
    ]
    assert found == []


def test_names_with_a_word_of_people_are_found() -> None:
    source = "def _tell(told):\n    a.heard = file.tell()\n    teller = 1\n    _Wanted, task = asked, 1\n"
    assert named(source) == ["1 _tell", "1 told", "2 heard", "4 _Wanted", "4 asked"]


def test_nothing_is_named_by_a_word_for_any_value() -> None:
    named_so = [
        f"{path.relative_to(SOURCE)}:{name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in filled(path.read_text())
        if (path.relative_to(SOURCE).as_posix(), name.split()[1]) not in KEPT
    ]
    assert named_so == []


def test_names_that_are_a_word_for_any_value_are_found() -> None:
    source = "def f(a, *, found=1):\n    self._at = [each for each in a]\n    made = found.at\n"
    assert filled(source) == ["1 found", "2 _at", "3 made", "2 each"]


def test_no_docstring_begins_with_a_clause() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in clauses(path.read_text())
    ]
    assert found == []


def test_clauses_are_found() -> None:
    source = '"""What."""\nA = 1\n"""Of a."""\n\n\nclass B:\n    """Rows."""\n\n    c: int\n    """How many."""\n'
    assert clauses(source) == [1, 3, 10]


def test_no_text_lets_a_thing_speak() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in spoken(path.read_text())
    ]
    assert found == []


def test_no_file_of_a_new_project_lets_a_thing_speak() -> None:
    templates = sorted((SOURCE / "cli" / "project").rglob("*.template"))
    assert templates
    assert [path.name for path in templates if WORDS.search(path.read_text())] == []


def test_words_of_people_are_found() -> None:
    source = '"""Rows.\n\nThe plan says why.\n"""\nsays = 1  # nobody reads it\nb = f"{c} told"\n'
    assert spoken(source) == [3, 5, 6]
