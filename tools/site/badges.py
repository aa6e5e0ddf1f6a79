"""Badges of the README, made from the project's own data, so that no other host is asked.

python -m tools.site.badges
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

from penstock.cli.doctor.software import TESTED

TOP = Path(__file__).parents[2]
IMAGES = TOP / "docs" / "images"
_LABEL, _VALUE = "#475569", "#2563eb"
_PER_CHARACTER, _MARGIN, _HEIGHT = 6, 8, 20


def render_badges() -> dict[str, str]:
    """Return the text of each file by its name."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = sorted(TESTED)
    sparks = sorted({version for tested in TESTED.values() for version in tested})
    return {
        "badge-python.svg": _badge("Python", " | ".join(map(_dotted, pythons))),
        "badge-spark.svg": _badge("Spark", " | ".join(map(_dotted, sparks))),
        "badge-license.svg": _badge("License", project["license"]),
    }


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _badge(label: str, value: str) -> str:
    left, right = (len(words) * _PER_CHARACTER + 2 * _MARGIN for words in (label, value))
    width = left + right
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" role="img"'
    style = 'font-family="Verdana, sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return "\n".join(
        [
            f"{head} {style}>",
            f"<title>{escape(f'{label}: {value}')}</title>",
            f'<rect width="{width}" height="{_HEIGHT}" rx="3" fill="{_LABEL}"/>',
            f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z" fill="{_VALUE}"/>',
            f'<text x="{left / 2:g}" y="14">{escape(label)}</text>',
            f'<text x="{left + right / 2:g}" y="14">{escape(value)}</text>',
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Write the files."""
    for name, text in render_badges().items():
        (IMAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
