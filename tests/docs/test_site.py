"""The site is complete, its links lead somewhere, and what code knows is made from code."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from typer.main import get_command

from penstock.cli.main import command_line
from penstock.datastream import (
    DataStream,
    KeyedStream,
    OutputTag,
    RuntimeContext,
    TimerService,
)
from penstock.datastream.connectors import LogSource
from penstock.datastream.operators import StreamOperator
from penstock.errors import PenstockError
from penstock.expressions.column import ColumnExpression
from tools.public_api import public_modules
from tools.site import drawings, looks, numbers, svg
from tools.site.api_pages import (
    PAGES,
    document,
    example_elsewhere,
    members,
    render_api,
    without_example,
)
from tools.site.command_pages import render_commands
from tools.site.error_pages import catalogue, messages, render_errors
from tools.site.pages import DOCS, TOP, write_pages

_LINK = re.compile(r"\]\((docs/[^)#]+)\.md#([^)]+)\)")
_ELSEWHERE = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>""")
_STYLES = re.compile(r"""<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*>""")
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def paths_of(nav: Any) -> Iterator[str]:
    """Yield the pages of a navigation, whatever they are inside."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for each in nav.values():
            yield from paths_of(each)
    else:
        for each in nav:
            yield from paths_of(each)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly, as `make docs-site` does."""
    top = tmp_path_factory.mktemp("site")
    shutil.copy(TOP / "zensical.toml", top)
    write_pages(top / "build" / "site" / "pages")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return top / "build" / "site"


def test_every_page_has_one_place_in_the_navigation(site: Path) -> None:
    listed = list(paths_of(tomllib.loads((TOP / "zensical.toml").read_text())["project"]["nav"]))
    assert len(listed) == len(set(listed))
    there = {path.relative_to(site / "pages").as_posix() for path in (site / "pages").rglob("*.md")}
    reached = {
        page for page in there if not page.startswith(("decisions/", "files/", "reference/errors/"))
    }
    assert set(listed) == reached


def test_nothing_comes_from_another_host(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in (site / "html").rglob("*.html")}
    assert len(pages) > 80
    found = {
        path.name: [*_ELSEWHERE.findall(text), *_STYLES.findall(text)]
        for path, text in pages.items()
    }
    assert {name: tags for name, tags in found.items() if tags} == {}
    assert not any('class="mermaid"' in text for text in pages.values())


_CODE_BLOCKS = """() => [...document.querySelectorAll(".md-content pre > code")].map(block => {
    const style = getComputedStyle(block);
    const padding = parseFloat(style.paddingTop) + parseFloat(style.paddingBottom);
    const lines = block.textContent.replace(/\\n$/, "").split("\\n");
    return {
        hidden: block.scrollWidth - block.clientWidth,
        longest: Math.max(...lines.map(line => line.length)),
        wrapped: Math.round((block.clientHeight - padding) / parseFloat(style.lineHeight)) - lines.length,
    };
})"""


def test_code_is_not_cut_beside_the_navigation(site: Path, chromium: Any) -> None:
    page = chromium.new_page()
    page.set_viewport_size({"width": 1300, "height": 900})
    blocks = []
    for name in ("start/first-job", "operate/state", "sql-scripts", "cookbook/state"):
        page.goto((site / "html" / f"{name}.html").as_uri())
        blocks += page.evaluate(_CODE_BLOCKS)
    page.close()
    assert [each for each in blocks if each["hidden"] > 1] == []
    fitting = [each for each in blocks if each["longest"] <= 100]
    assert max(each["longest"] for each in fitting) > 95
    assert [each for each in fitting if each["wrapped"]] == []


def test_pages_are_readable_at_both_widths_in_both_schemes(site: Path, chromium: Any) -> None:
    kinds = "index start/first-job api-support reference/api/streams reference/decisions benchmarks"
    pages = [site / "html" / f"{name}.html" for name in kinds.split()]
    assert list(looks.problems(chromium, pages, site / "html")) == []


_UNREADABLE = """<!doctype html><body style="margin: 0; background: #fff"><main class="md-content">
<p style="color: #999">pale</p><p style="color: #333">dark</p><pre style="width: 900px">x</pre></main>"""


def test_what_cannot_be_read_is_found(chromium: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(_UNREADABLE, encoding="utf-8")
    found = list(looks.problems(chromium, [page], tmp_path))
    narrow = {each.kind: each.amount for each in found if each.width == 400}
    assert narrow == {"overflow": 500, "cut": 500, "contrast": 2.85}
    assert {each.kind for each in found if each.width == 1300} == {"contrast"}


@pytest.mark.parametrize("colour", [svg.INK, svg.MUTED, svg.BLUE, svg.GREEN, svg.ORANGE])
@pytest.mark.parametrize("ground", ["#ffffff", "#0d1117"])
def test_colours_of_drawings_hold_on_light_and_dark(colour: str, ground: str) -> None:
    less, more = sorted(map(_luminance, (colour, ground)))
    assert (more + 0.05) / (less + 0.05) >= 4


def _luminance(colour: str) -> float:
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_anchors_of_the_readme_are_there(site: Path) -> None:
    for page in ("README.md", "CHANGELOG.md"):
        for path, anchor in _LINK.findall((TOP / page).read_text(encoding="utf-8")):
            made = site / "html" / f"{path.removeprefix('docs/')}.html"
            assert f'id="{anchor}"' in made.read_text(encoding="utf-8"), f"{page}: {path}#{anchor}"


def test_a_file_of_the_project_that_a_page_links_to_is_a_page(site: Path) -> None:
    shown = site / "pages" / "files" / "examples" / "regular_join.py.md"
    assert "def joined(orders, refunds):" in shown.read_text(encoding="utf-8")
    page = site / "pages" / "semantics" / "results.md"
    assert "](../files/examples/regular_join.py.md)" in page.read_text(encoding="utf-8")


def test_every_error_code_has_a_page() -> None:
    registered = PenstockError._by_code.items()
    ours = {code for code, each in registered if each.__module__.startswith("penstock.")}
    assert catalogue().keys() - {"PENSTOCK"} == ours
    pages = render_errors()
    assert len(pages) == 1 + len(catalogue())
    for code in catalogue():
        assert pages[f"reference/errors/{code.lower()}.md"].startswith(f"# {code}\n")
        assert f"](errors/{code.lower()}.md)" in pages["reference/errors.md"]


def test_a_message_has_its_hint_and_its_place() -> None:
    (message,) = messages()["GRAPH_EMPTY"]
    assert "no sink" in message.problem
    assert message.hint
    assert message.module == "graph/logical.py"
    lacking = [each for of in messages().values() for each in of if not each.hint]
    assert lacking == []


def test_every_command_and_option_is_listed() -> None:
    page = render_commands()
    for name, command in get_command(command_line()).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {"": command})
        for each in inner.values():
            for option in each.params:
                assert f"`{option.opts[0]}`" in page, f"{name} {option.opts}"


def test_every_public_class_has_an_entry() -> None:
    text = "".join(render_api().values())
    exported = {
        name
        for module in map(importlib.import_module, public_modules())
        for name in getattr(module, "__all__", ())
        if isinstance(vars(module)[name], (type, FunctionType))
        and vars(module)[name].__module__.startswith("penstock")
    }
    assert {"DataStream", "KafkaSource", "Row", "run_in_process"} <= exported
    assert [name for name in sorted(exported) if f"\n## {name} {{ #" not in text] == []


def test_every_example_of_a_public_class_is_shown() -> None:
    pages = render_api()
    assert pages.keys() == PAGES.keys()
    assert ">>> totals = orders.key_by(lambda order: order[0]).sum(1)" in pages["streams"]


WITHOUT_EXAMPLE = {
    "Committer.check_background": "for committers with a thread of their own, which are not short",
    "Committer.publish": "for committers that hold back what is staged, which are not short",
    "PostgresSource.drop": "needs a server; `penstock drop` calls it, and the page about PostgreSQL names it",
}
"""Methods that no example shows, and why. The table may only become smaller."""


def test_every_other_method_has_an_example() -> None:
    assert sorted(without_example()) == sorted(WITHOUT_EXAMPLE)


def test_a_method_is_shown_where_it_is_used() -> None:
    (line,) = example_elsewhere(ColumnExpression, "truncate")
    assert line == "*Used in [Columns](../../columns.md).*\n"
    (line,) = example_elsewhere(TimerService, "register_event_time_timer")
    assert line == "*Used in the example of the class.*\n"
    (line,) = example_elsewhere(OutputTag, "get_side_output")
    assert line == "*Used in [Recipes: files, services, models](../../cookbook/outside.md).*\n"
    (line,) = example_elsewhere(RuntimeContext, "create_external_sorter")
    assert line.startswith("*Used in an example of [ExternalSorter](functions.md#")
    (line,) = example_elsewhere(StreamOperator, "end_input")
    assert line.startswith("*Used in the example of ")
    assert list(example_elsewhere(OutputTag, "no_such_method")) == []


def test_what_only_the_engine_calls_is_not_shown() -> None:
    assert "exact_start" not in members(LogSource)
    assert {"discover", "read", "cost"} <= members(LogSource).keys()
    assert "window_operator" not in members(DataStream)


def test_methods_of_public_bases_are_not_repeated() -> None:
    assert "map" in members(DataStream)
    assert "map" not in members(KeyedStream)
    assert "It also has what [DataStream](streams.md#" in render_api()["streams"]


def test_text_between_examples_stays_text() -> None:
    text = "Add.\n\nExample:\n    >>> 1 + 1\n    2\n\n    More:\n\n    >>> 3\n    3\n"
    assert document(text).split("\n") == [
        *("Add.", "", "```pycon", ">>> 1 + 1", "2", "```", "", "More:", ""),
        *("```pycon", ">>> 3", "3", "```", ""),
    ]


def test_sections_of_a_docstring_become_lists() -> None:
    text = "Add.\n\nArgs:\n    a: One,\n        or two.\n    b: More.\n\nReturns:\n    The sum.\n"
    assert document(text).split("\n") == [
        *("Add.", "", "**Args**", "", "* `a`: One, or two.", "* `b`: More.", ""),
        *("**Returns**", "", "The sum.", ""),
    ]


@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_drawings_are_those_of_the_programs(name: str) -> None:
    stored = DOCS / "images" / f"{name}.svg"
    assert stored.read_text(encoding="utf-8") == drawings.DRAWINGS[name]()
    about, _, rest = name.partition("-")
    others = {"concept": DOCS / "concepts" / f"{rest}.md", "readme": TOP / "README.md"}
    page = others.get(about, DOCS / f"{about}.md")
    assert f"{name}.svg" in page.read_text(encoding="utf-8")


def test_the_first_job_is_that_of_a_new_project() -> None:
    template = TOP / "src" / "penstock" / "cli" / "project" / "spent.py.template"
    program = template.read_text(encoding="utf-8")
    blocks = _BLOCK.findall((DOCS / "start" / "first-job.md").read_text(encoding="utf-8"))
    assert len(blocks) == 5
    assert [block for block in blocks if block not in program] == []


def test_the_readme_shows_a_part_of_the_first_kafka_job() -> None:
    (program,) = _BLOCK.findall((DOCS / "start" / "first-kafka-job.md").read_text(encoding="utf-8"))
    _, shown = _BLOCK.findall((TOP / "README.md").read_text(encoding="utf-8"))
    function, source = shown.split("\n\n\n")
    assert function in program
    assert source in program


@pytest.mark.parametrize("name", numbers.PAGES)
def test_speeds_are_those_that_were_measured(name: str) -> None:
    text = (TOP / name).read_text(encoding="utf-8")
    assert text.count("<!-- numbers -->") == 1
    made = numbers.with_numbers(text, numbers.PAGES[name])
    assert text == made, "run python -m tools.site.numbers"


def test_what_is_said_of_other_systems_has_a_source() -> None:
    text = (DOCS / "compare.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(#([a-z-]+)\) \|", text)
    assert len(named) == 6
    parts = {
        part.partition("\n")[0].lower().replace(" ", "-"): part for part in text.split("\n## ")
    }
    assert [name for name in named if "](https://" not in parts[name]] == []


def test_the_readme_is_one_screen() -> None:
    text = (TOP / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
