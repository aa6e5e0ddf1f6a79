"""Changes since the last release are fragments, of which a release makes its section of the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SETTINGS = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
FOLDER = TOP / SETTINGS["directory"]
TYPES = [each["directory"] for each in SETTINGS["type"]]
_NAME = re.compile(rf"\+[a-z0-9]+(?:-[a-z0-9]+)*\.(?:{'|'.join(TYPES)})\.md")


def fragments() -> list[Path]:
    """Return the files of the folder other than its description."""
    return sorted(path for path in FOLDER.iterdir() if path.name != "README.md")


def problems(name: str, text: str) -> list[str]:
    """Return what is wrong with a fragment."""
    found = [] if _NAME.fullmatch(name) else ["the name is not +WHAT.TYPE.md"]
    if not text.strip().endswith((".", "`", ")")):
        found.append("the text is no sentence")
    if text.lstrip().startswith(("#", "* ", "- ")):
        found.append("the text begins with a heading or a list: the changelog has both")
    if len(text.split()) > 60:
        found.append("the text has more than 60 words")
    return found


def test_fragments_have_a_name_and_a_sentence() -> None:
    found = {
        path.name: problems(path.name, path.read_text(encoding="utf-8")) for path in fragments()
    }
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("+kafka-headers.added.md", "`KafkaSource` returns headers.\n", 0),
        ("kafka-headers.added.md", "`KafkaSource` returns headers.\n", 1),
        ("+kafka_headers.added.md", "`KafkaSource` returns headers.\n", 1),
        ("+kafka-headers.feature.md", "`KafkaSource` returns headers.\n", 1),
        ("+kafka-headers.added.rst", "`KafkaSource` returns headers.\n", 1),
        ("+kafka-headers.added.md", "", 1),
        ("+kafka-headers.added.md", "* Headers.\n", 1),
        ("+kafka-headers.added.md", "word " * 61 + ".", 1),
    ],
)
def test_a_wrong_fragment_is_noticed(name: str, text: str, count: int) -> None:
    assert len(problems(name, text)) == count


def test_the_description_has_every_type() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == TYPES
    (example,) = re.findall(r"`changes/(\S+)`:", text)
    (sentence,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert problems(example, sentence) == []


def test_a_release_adds_its_section_above_those_of_others() -> None:
    changelog = (TOP / SETTINGS["filename"]).read_text(encoding="utf-8")
    before, _, after = changelog.partition(SETTINGS["start_string"])
    assert after
    assert "\n## " not in before
    assert after.lstrip().startswith("## ")


def test_a_draft_of_the_changelog_has_every_fragment() -> None:
    pytest.importorskip("towncrier", reason="the environment is older than requirements/dev.txt")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "1.2.3"]
    built = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout
    assert built.startswith("## 1.2.3 (")
    texts = [path.read_text(encoding="utf-8").splitlines()[0] for path in fragments()]
    assert [text for text in texts if f"- {text}" not in built] == []
