"""Gather the pages of the site: those of `docs/`, and those that are made from code."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.site.api_pages import render_api
from tools.site.command_pages import render_commands
from tools.site.decisions import render_index
from tools.site.error_pages import render_errors
from tools.site.proposal_pages import render_proposals

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
_OUTWARD = re.compile(r"\]\(((?:\.\./)+)((?:examples|deploy|src|tools|tests|benchmarks)/[^)#]+)\)")
_LANGUAGES = {
    ".py": "python",
    ".yaml": "yaml",
    ".ipynb": "json",
    ".service": "ini",
    ".toml": "toml",
}
STYLE = Path(__file__).with_name("widths.css")
"""What the theme's style sheet lacks; `zensical.toml` names it."""

_NO_PAGES = ("api", "README.md")
"""Parts of `docs/` that are no pages: lists of names that tests compare with, and the index that a checkout shows."""


def write_pages(target: Path) -> None:
    """Write all pages below `target`, which is emptied first.

    A link to a file outside of `docs/` becomes one to a page that shows the file.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns(*_NO_PAGES))
    shutil.copy(STYLE, target)
    for path, text in made_pages().items():
        page = target / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    shown = {file for page in sorted(target.rglob("*.md")) for file in _show_files(page, target)}
    for file in sorted(shown):
        page = target / "files" / f"{file}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(_file_page(file), encoding="utf-8")


def made_pages() -> dict[str, str]:
    """Return the pages that are made from code, by path."""
    return {
        **render_errors(),
        "reference/commands.md": render_commands(),
        "reference/decisions.md": render_index("../decisions/"),
        **render_proposals(),
        **{f"reference/api/{key}.md": text for key, text in render_api().items()},
    }


def _show_files(page: Path, target: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    up = "../" * (len(page.relative_to(target).parts) - 1)
    found = [path for _, path in _OUTWARD.findall(text) if (TOP / path).is_file()]
    if found:
        page.write_text(_OUTWARD.sub(rf"]({up}files/\2.md)", text), encoding="utf-8")
    yield from found


def _file_page(file: str) -> str:
    text = (TOP / file).read_text(encoding="utf-8")
    language = _LANGUAGES.get(Path(file).suffix, "text")
    return f"# {Path(file).name}\n\n`{file}`\n\n````{language}\n{text}\n````\n"
