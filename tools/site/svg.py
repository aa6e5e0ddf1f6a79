"""Shapes of drawings, as text of SVG. Colours have a contrast of at least 4 to white and to black."""

from __future__ import annotations

from html import escape

INK, MUTED, BLUE, GREEN, ORANGE = "#6b7a90", "#708096", "#3470f0", "#128a3f", "#cf4f0a"


def box(x: int, y: int, width: int, height: int, colour: str, *, filled: bool = True) -> str:
    """Return a rounded rectangle; an empty one has a dashed line."""
    style = (
        f'fill="{colour}" fill-opacity="0.15" stroke="{colour}"'
        if filled
        else f'fill="none" stroke="{colour}" stroke-dasharray="5 4"'
    )
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" {style}/>'


def text(
    x: int, y: int, words: str, colour: str = INK, *, size: int = 14, at: str = "middle"
) -> str:
    """Return a line of text; `at` is where x is: start, middle or end."""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{at}">{escape(words)}</text>'


def line(x1: int, y1: int, x2: int, y2: int, colour: str = INK, *, dashed: bool = False) -> str:
    """Return a straight line."""
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="1.5"{dash}/>'


def arrow(x1: int, y1: int, x2: int, y2: int, colour: str = INK) -> str:
    """Return a line that ends with a head."""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="1.5" marker-end="url(#head)"/>'


def dot(x: int, y: int, colour: str = BLUE) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x}" cy="{y}" r="6" fill="{colour}"/>'


def drawing(width: int, height: int, title: str, *shapes: str) -> str:
    """Return the whole file; `title` is what a reader hears who does not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        f'markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", marker, *shapes, "</svg>", ""])
