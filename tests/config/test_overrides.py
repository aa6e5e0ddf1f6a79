"""Process overrides: order, replacement, removal."""

from __future__ import annotations

from penstock.config.configuration import process_overrides, set_process_overrides


def test_later_names_come_later_and_a_repeated_name_replaces():
    set_process_overrides("env", {"a": "1"})
    set_process_overrides("cli", {"a": "2"})
    assert process_overrides() == (("env", {"a": "1"}), ("cli", {"a": "2"}))
    set_process_overrides("env", {"b": "3"})
    assert process_overrides() == (("cli", {"a": "2"}), ("env", {"b": "3"}))
    set_process_overrides("cli", {})
    assert process_overrides() == (("env", {"b": "3"}),)


def test_values_are_copied():
    values = {"a": "1"}
    set_process_overrides("cli", values)
    values["a"] = "2"
    assert process_overrides() == (("cli", {"a": "1"}),)
