"""An option is a declaration in the table: checks, the command line and the page read it there."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from penstock.cli import config as config_command
from penstock.cli.main import command_line
from penstock.config import Configuration, configuration, reference
from penstock.config.option import ConfigOption, between
from penstock.config.options import ALL_OPTIONS
from penstock.config.parse import INTEGER
from penstock.errors import ConfigError

COOLING = ConfigOption(
    "execution.live.cooling-breaks",
    INTEGER,
    0,
    "Breaks per hour in which a live run reads nothing.",
    check=between(0, 60),
)


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    options = (*ALL_OPTIONS, COOLING)
    for module in (configuration, reference, config_command):
        monkeypatch.setattr(module, "ALL_OPTIONS", options)
    monkeypatch.setattr(
        configuration, "_KNOWN_KEYS", frozenset(key for each in options for key in each.keys)
    )


def test_its_value_is_parsed() -> None:
    config = Configuration.from_dict({COOLING.key: "7"})
    config.validate()
    assert config.get(COOLING) == 7
    assert Configuration().get(COOLING) == 0


@pytest.mark.parametrize("text", ["61", "often"])
def test_a_wrong_value_is_refused_with_its_key(text: str) -> None:
    with pytest.raises(ConfigError, match=COOLING.key):
        Configuration.from_dict({COOLING.key: text}).validate()


def test_a_misspelled_key_is_refused_with_it() -> None:
    with pytest.raises(ConfigError, match="cooling-break") as caught:
        Configuration.from_dict({"execution.live.cooling-break": "7"}).validate()
    assert COOLING.key in (caught.value.hint or "")


def test_the_page_and_the_command_line_describe_it() -> None:
    assert f"* **`{COOLING.key}`**" in reference.render_reference()
    printed = CliRunner().invoke(command_line(), ["config", COOLING.key])
    assert "must be between 0 and 60" in printed.output
