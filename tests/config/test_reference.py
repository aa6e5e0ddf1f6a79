"""The reference page is complete and is the one in the repository."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from penstock import config
from penstock.config.configuration import Configuration
from penstock.config.option import ConfigOption
from penstock.config.options import ALL_OPTIONS
from penstock.config.reference import render_reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == render_reference(), "run make docs"


def test_every_declared_option_is_listed():
    modules = (import_module(m.name) for m in iter_modules(config.__path__, "penstock.config."))
    constants = {
        value.key
        for module in modules
        for value in vars(module).values()
        if isinstance(value, ConfigOption)
    }
    assert constants == {option.key for option in ALL_OPTIONS}


def test_no_key_is_used_twice():
    names = Counter(key for option in ALL_OPTIONS for key in option.keys)
    assert max(names.values()) == 1


def test_every_key_is_on_the_page():
    page = render_reference()
    assert [key for option in ALL_OPTIONS for key in option.keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize("option", ALL_OPTIONS, ids=lambda option: option.key)
def test_option_is_well_formed(option):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*(\.[a-z]+(-[a-z]+)*)+", option.key)
    assert option.description.endswith(".")
    assert "|" not in option.description
    assert option.check(option.default) is None
    if option.default is not None:
        assert Configuration().set(option, option.default).get(option) == option.default
