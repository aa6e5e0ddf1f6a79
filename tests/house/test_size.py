"""The size of the house: it grows with a record that says why (docs/decisions/0123-size-of-the-house.md)."""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "penstock"
MOST_LINES = 153_700
MOST_FILES = 855
MOST_LINES_OF_A_FILE = 800
MOST_SMALL_FILES = 60
SMALL = 40


def lengths(source: Path) -> dict[str, int]:
    """Return file to number of lines, of every module."""
    found = sorted(source.rglob("*.py"))
    return {str(path.relative_to(source)): len(path.read_text().splitlines()) for path in found}


def test_the_house_is_not_larger_than_decided() -> None:
    sizes = lengths(SOURCE)
    assert sum(sizes.values()) <= MOST_LINES
    assert len(sizes) <= MOST_FILES


def test_a_file_holds_one_idea() -> None:
    sizes = lengths(SOURCE)
    assert [name for name, size in sizes.items() if size > MOST_LINES_OF_A_FILE] == []
    small = [name for name, size in sizes.items() if size < SMALL]
    assert len([name for name in small if not name.endswith("__init__.py")]) < MOST_SMALL_FILES


def test_lines_of_all_modules_are_counted(tmp_path: Path) -> None:
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms" / "one.py").write_text('"""One."""\n\nA = 1\n')
    (tmp_path / "two.py").write_text("")
    assert lengths(tmp_path) == {"rooms/one.py": 3, "two.py": 0}
