"""Look at every page of the built site in a browser: at two widths, light and dark.

python -m tools.site.looks
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

from tools.site.pages import TOP
from tools.support.browser import browser, installed_browser

HTML = TOP / "build" / "site" / "html"
WIDTHS = (1300, 400)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

_PROBLEMS = """() => {
    const found = [];
    const name = (element) => `${element.localName}${[...element.classList].map((one) => "." + one).join("")}`;
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) {
        const wide = [...document.querySelectorAll("main *")].find(
            (each) => each.getBoundingClientRect().right > width + 1);
        found.push(["overflow", wide ? name(wide) : "page", document.documentElement.scrollWidth - width]);
    }
    const scrolls = (element) => {
        for (let each = element; each && each !== document.body; each = each.parentElement) {
            if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
        }
        return false;
    };
    for (const each of document.querySelectorAll(".md-content :is(pre, table, img, code)")) {
        const box = each.getBoundingClientRect();
        if (box.width && box.right > width + 1 && !scrolls(each)) found.push(["cut", name(each), Math.round(box.right - width)]);
    }
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const known = new Map();
    const rgba = (colour) => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
            known.set(colour, [r, g, b, a / 255]);
        }
        return known.get(colour);
    };
    const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
    const ground = (element) => {
        const layers = [];
        for (let each = element; each; each = each.parentElement) {
            const colour = rgba(getComputedStyle(each).backgroundColor);
            if (colour[3]) layers.push(colour);
            if (colour[3] === 1) break;
        }
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
    };
    const light = (colour) => {
        const [r, g, b] = colour.slice(0, 3).map((part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const seen = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!/[\\w]/.test(texts.currentNode.textContent) || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        if (element.closest("script, style, noscript, svg, [hidden]") || !element.getClientRects().length) continue;
        const style = getComputedStyle(element);
        const below = ground(element);
        const colour = over(rgba(style.color), below);
        const [less, more] = [light(colour), light(below)].sort((a, b) => a - b);
        const ratio = (more + 0.05) / (less + 0.05);
        const size = parseFloat(style.fontSize);
        const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
        const what = `${name(element)} ${style.color} on ${below.slice(0, 3).map(Math.round)}`;
        if (ratio < least && !seen.has(what)) {
            seen.add(what);
            found.push(["contrast", `${what} (${texts.currentNode.textContent.trim().slice(0, 30)})`, Math.round(ratio * 100) / 100]);
        }
    }
    return found;
}"""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something of a page that cannot be read.

    Attributes:
        page: Path below the directory of the site.
        width: Of the window, in pixels.
        scheme: `light` or `dark`.
        kind: `overflow` of the page, an element that is `cut`, or `contrast` of a text.
        element: Name and classes.
        amount: Pixels outside, or the ratio of contrast.
    """

    page: str
    width: int
    scheme: str
    kind: str
    element: str
    amount: float


def main() -> int:
    """Print the problems of all pages; return 1 if there are any."""
    program = installed_browser()
    if program is None:
        sys.exit("There is no browser here: see scripts/ensure_chromium.sh.")
    pages = sorted(HTML.rglob("*.html"))
    if not pages:
        sys.exit("There is no site: run make docs-site before.")
    with browser(program) as context:
        found = list(problems(context, pages, HTML))
    for each in found:
        sys.stdout.write(
            f"{each.page} {each.width} {each.scheme}: {each.kind} {each.element} {each.amount}\n"
        )
    sys.stdout.write(f"{len(pages)} pages, {len(found)} problems\n")
    return 1 if found else 0


def problems(context: Any, pages: list[Path], top: Path) -> Iterator[Problem]:
    """Yield what is wrong with pages of the site, at each width and in each scheme.

    Args:
        context: A browser.
        pages: Files.
        top: Directory of the site.
    """
    page: Page = context.new_page()
    for path, scheme in product(pages, SCHEMES):
        # The theme chooses its colours when a page is loaded.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.goto(path.as_uri())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for kind, element, amount in page.evaluate(_PROBLEMS):
                name = path.relative_to(top).as_posix()
                yield Problem(name, width, scheme, kind, element, amount)
    page.close()


if __name__ == "__main__":
    sys.exit(main())
