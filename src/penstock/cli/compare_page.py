"""The page of `penstock compare`: one file, with the style of the page of a job in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

_COUNTS = {
    "rows_a": "Rows a",
    "rows_b": "Rows b",
    "only_in_a": "Only in a",
    "only_in_b": "Only in b",
    "different": "Different",
}
"""Count of a sink to the head of its column."""

_STATUS = {"equal": "FINISHED", "not compared": "WAITING"}
"""Verdict to the class of the style that has its colour."""

_STYLE = """\
.row { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.row.gone, .row .before { color: var(--bad); } .row.come, .row .after { color: var(--good); }
.rows td:nth-child(n + 2) { min-width: 0; }
@media (max-width: 36rem) { .rows td { grid-column: 1 / -1; } }
"""


def comparison_page(title: str, sinks: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> str:
    """Return the page, given what `penstock compare --json` prints of each sink."""
    style = (files("penstock.observe.ui") / "static" / "page.css").read_text("utf-8")
    verdicts = [sink["verdict"] for sink in sinks]
    verdict = next((v for v in ("different", "not compared") if v in verdicts), "equal")
    body = "\n".join([*_notes(notes), *_table(sinks), *_details(sinks)])
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Comparison of {escape(title)}</title>
<style>
{style}{_STYLE}</style>
</head>
<body>
<header>
  <div class="title"><h1>Comparison of {escape(title)}</h1>
  <span class="status {_STATUS.get(verdict, "FAILED")}">{escape(verdict)}</span></div>
</header>
<main>
{body}
</main>
</body>
</html>
"""


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield '<section aria-label="Positions">'
        yield from (f'<p class="line">{escape(note)}</p>' for note in notes)
        yield "</section>"


def _table(sinks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    heads = "".join(f'<th scope="col" class="number">{head}</th>' for head in _COUNTS.values())
    yield '<section aria-labelledby="sinks-title"><h2 id="sinks-title">Sinks</h2>'
    yield '<div class="scroll" tabindex="0" role="group" aria-labelledby="sinks-title"><table>'
    yield f'<thead><tr><th scope="col">Sink</th><th scope="col">Verdict</th>{heads}'
    yield '<th scope="col">First difference</th></tr></thead><tbody>'
    for sink in sinks:
        status = _STATUS.get(sink["verdict"], "FAILED")
        keys = (
            f'<div class="uid">by {escape(", ".join(sink["keys"]))}</div>' if sink["keys"] else ""
        )
        cells = "".join(
            f'<td class="number" data-head="{head}">{_number(sink, count)}</td>'
            for count, head in _COUNTS.items()
        )
        yield f"<tr><td>{escape(sink['sink'])}{keys}</td>"
        yield f'<td><span class="status {status}">{escape(sink["verdict"])}</span></td>{cells}'
        yield f'<td data-head="First difference">{escape(_first(sink))}</td></tr>'
    yield "</tbody></table></div></section>"


def _number(sink: Mapping[str, Any], name: str) -> str:
    """Return a count; nothing if there is none, as of rows that differ in digests."""
    is_known = sink.get("digests") is None or name.startswith("rows")
    return f"{sink[name]:,}" if name in sink and is_known else ""


def _first(sink: Mapping[str, Any]) -> str:
    time, epochs = sink.get("first_time"), sink.get("first_epochs") or (None, None)
    sides = [f"{side} {epoch}" for side, epoch in zip("ab", epochs, strict=True) if epoch]
    place = [] if time is None else [f"at {time}"]
    return "; ".join([*place, *([f"epoch {', '.join(sides)}"] if sides else [])])


def _details(sinks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for sink in sinks:
        if sink["verdict"] == "equal":
            continue
        name = escape(sink["sink"])
        if "problem" in sink:
            yield f'<section class="failure past" aria-label="{name}"><h2>{name}</h2>'
            yield f"<pre>{escape(sink['problem'])}</pre><p>{escape(sink['hint'])}</p></section>"
            continue
        differs = "rows that differ" if sink["digests"] is None else "digests of all rows"
        yield f'<section class="rows" aria-label="{name}"><h2>{name}: {differs}</h2>'
        yield from _rows(sink)
        yield "</section>"


def _rows(sink: Mapping[str, Any]) -> Iterator[str]:
    if sink["digests"] is not None:
        yield f'<p class="line row">a {sink["digests"][0]}</p><p class="line row">b {sink["digests"][1]}</p>'
        return
    yield '<div class="scroll" tabindex="0" role="group"><table><thead><tr>'
    yield '<th scope="col">Key</th><th scope="col">In a</th><th scope="col">In b</th></tr></thead><tbody>'
    for change in sink["examples"]:
        cells = (
            f'<td class="row"{head}>{_side(change[side], side)}</td>'
            for side, head in (
                ("key", ""),
                ("before", ' data-head="a"'),
                ("after", ' data-head="b"'),
            )
        )
        yield f"<tr>{''.join(cells)}</tr>"
    total = sink["only_in_a"] + sink["only_in_b"] + sink["different"]
    yield "</tbody></table></div>"
    if total > len(sink["examples"]):
        yield f'<p class="legend">The first {len(sink["examples"]):,} of {total:,}; --limit shows more.</p>'


def _side(value: Any, side: str) -> str:
    """Return the text of a key or a row; nothing if there is none."""
    if value is None:
        return ""
    return f'<span class="{side}">{escape(json.dumps(value, ensure_ascii=False))}</span>'
