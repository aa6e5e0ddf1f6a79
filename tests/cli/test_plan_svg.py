"""`penstock plan --svg`: the graph as one file."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

PROGRAM = """
    from penstock.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2, 3])
    doubled = numbers.map(lambda n: 2 * n).name("double <&> it").uid("double")
    doubled.key_by(lambda n: n % 2).sum().uid("sums").print()
    doubled.print()
    print("mine")
    env.execute("svg")
"""


def number(element: ET.Element, name: str) -> float:
    text = element.get(name)
    assert text is not None
    return float(text)


SVG = "{http://www.w3.org/2000/svg}"


def test_the_graph_is_a_file_that_needs_nothing_else(penstock, program, tmp_path):
    path = tmp_path / "plan.svg"
    result = penstock("plan", program(PROGRAM), "--svg", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314 - ours
    assert root.tag == f"{SVG}svg"
    boxes = root.findall(f".//{SVG}rect")
    names = [each.text for each in root.findall(f".//{SVG}text[@class='name']")]
    assert len(boxes) == len(names) == 5
    assert "double <&> it" in names
    classes = [each.get("class", "") for each in root.findall(f".//{SVG}polyline")]
    assert sorted(classes) == ["edge", "edge", "edge", "edge exchange"]
    titles = [each.text or "" for each in root.findall(f".//{SVG}g/{SVG}title")]
    assert any("uid double, level 0" in title for title in titles)
    width, height = number(root, "width"), number(root, "height")
    for box in boxes:
        assert 0 <= number(box, "x") <= width - number(box, "width")
        assert 0 <= number(box, "y") <= height - number(box, "height")
    outside = text.replace("http://www.w3.org/2000/svg", "")
    assert not [word for word in ("http", "url(", "<script", "@import") if word in outside]


@pytest.mark.parametrize("other", ["--json", "--mermaid"])
def test_one_form_at_a_time(penstock, program, tmp_path, other):
    result = penstock("plan", program(PROGRAM), "--svg", str(tmp_path / "a.svg"), other)
    assert result.exit_code == 2
    assert not (tmp_path / "a.svg").exists()


def test_a_file_that_cannot_be_written_says_so(penstock, program, tmp_path):
    result = penstock("plan", program(PROGRAM), "--svg", str(tmp_path / "missing" / "a.svg"))
    assert result.exit_code == 2
    assert "'--svg': there is no directory" in result.stderr
