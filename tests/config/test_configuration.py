"""Layers, typed reads and validation."""

from __future__ import annotations

import pickle
from datetime import timedelta
from warnings import catch_warnings, simplefilter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import Configuration, RuntimeExecutionMode, set_process_overrides
from penstock.config.options import (
    ALL_OPTIONS,
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    INTERVAL_DURING_BACKLOG,
    JOB_NAME,
    MAX_PARALLELISM,
    OPERATOR_CHAINING,
    PARALLELISM,
    RUNTIME_MODE,
    TARGET,
)
from penstock.errors import ConfigError

keys = st.sampled_from(["a", "b", "c"])
settings = st.dictionaries(keys, st.text(max_size=3))


def refusal(action, *args):
    with pytest.raises(ConfigError) as caught:
        action(*args)
    assert caught.value.code == "CONFIG_INVALID"
    return str(caught.value)


@given(settings, settings)
def test_a_layer_wins_key_by_key(below, above):
    assert Configuration.from_dict(below).layered("file", above).to_dict() == {**below, **above}


def test_a_final_layer_wins_over_the_command_line():
    set_process_overrides("cli", {"a": "line", "b": "line"})
    try:
        conf = Configuration.from_dict({"a": "program"}).layered(
            "engine", {"a": "1"}, is_final=True
        )
        assert Configuration(conf).layered("file", {"a": "2"}).to_dict() == {"a": "1", "b": "line"}
    finally:
        set_process_overrides("cli", {})


@given(settings, settings)
def test_add_all_wins_key_by_key_and_leaves_the_other_alone(mine, other):
    source = Configuration.from_dict(other)
    assert Configuration.from_dict(mine).add_all(source).to_dict() == {**mine, **other}
    assert source.to_dict() == other


@given(settings, keys)
def test_removed_key_is_gone(values, key):
    conf = Configuration.from_dict(values)
    assert conf.remove_config(key) == (key in values)
    assert not conf.contains_key(key)
    assert conf.remove_config(key) is False


def test_a_dict_is_no_configuration():
    with pytest.raises(ConfigError, match="got a dict") as caught:
        Configuration({"parallelism.default": 4})  # type: ignore[arg-type]
    assert "Configuration.from_dict" in caught.value.hint


def test_setters_return_the_configuration_and_getters_read_back():
    conf = Configuration()
    assert conf.set_string("s", "x").set_integer("i", 4).set_boolean("b", True) is conf
    conf.set_float("f", 0.5)
    assert conf.get_string("s", "") == "x"
    assert conf.get_integer("i", 0) == 4
    assert conf.get_boolean("b", False) is True
    assert conf.get_float("f", 0.0) == 0.5
    assert conf.to_dict() == {"s": "x", "i": "4", "b": "true", "f": "0.5"}
    assert conf.key_set() == {"s", "i", "b", "f"}


def test_getters_return_the_default_they_are_given():
    conf = Configuration()
    assert conf.get_string("s", "d") == "d"
    assert conf.get_integer("i", 7) == 7
    assert conf.get_boolean("b", None) is None
    assert conf.get_float("f", 1.5) == 1.5


def test_untyped_getter_names_key_text_and_layer():
    conf = Configuration().set_string("my.key", "four")
    assert "my.key='four' (from program): an integer" in refusal(conf.get_integer, "my.key", 1)


def test_unset_options_have_their_defaults():
    conf = Configuration()
    expected = {
        "execution.runtime-mode": RuntimeExecutionMode.STREAMING,
        "execution.target": "spark",
        "parallelism.default": None,
        "pipeline.max-parallelism": 128,
        "pipeline.name": "penstock-job",
        "execution.checkpointing.dir": None,
        "execution.checkpointing.interval": timedelta(0),
        "execution.checkpointing.interval-during-backlog": None,
        "pipeline.operator-chaining.enabled": True,
        "execution.frame.max-records": 4096,
        "execution.live.max-records-per-batch": 1_000_000,
        "execution.live.max-files-per-batch": 8,
        "state.backend.type": "hashmap",
        "execution.checkpointing.savepoint-dir": None,
        "execution.state-recovery.path": None,
        "execution.state-recovery.ignore-unclaimed-state": False,
        "execution.state-recovery.ignore-source-positions": False,
        "restart-strategy.type": "none",
        "python.files": None,
    }
    found = {option.key: conf.get(option) for option in ALL_OPTIONS}
    assert {key: found[key] for key in expected} == expected
    assert {conf.source_of(option) for option in ALL_OPTIONS} == {"default"}


def test_option_can_be_set_by_key_or_by_itself_from_text_or_value():
    conf = Configuration().set("execution.runtime-mode", "batch").set(CHECKPOINT_INTERVAL, "5 s")
    assert conf.get(RUNTIME_MODE) is RuntimeExecutionMode.BATCH
    assert conf.get(CHECKPOINT_INTERVAL) == timedelta(seconds=5)
    conf.set(RUNTIME_MODE, RuntimeExecutionMode.AUTOMATIC)
    conf.set(CHECKPOINT_INTERVAL, timedelta(milliseconds=1500))
    conf.set(PARALLELISM, 3)
    assert conf.get(RUNTIME_MODE) is RuntimeExecutionMode.AUTOMATIC
    assert conf.get(CHECKPOINT_INTERVAL) == timedelta(milliseconds=1500)
    assert conf.get(PARALLELISM) == 3


def test_value_that_does_not_parse_names_key_text_and_layer():
    conf = Configuration().layered("jobs.yaml", {CHECKPOINT_INTERVAL.key: "5 weeks"})
    message = refusal(conf.get, CHECKPOINT_INTERVAL)
    assert "execution.checkpointing.interval='5 weeks' (from jobs.yaml): a duration" in message
    assert "250ms" in message


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (TARGET, "yarn"),
        (PARALLELISM, "0"),
        (MAX_PARALLELISM, "0"),
        (MAX_PARALLELISM, "32769"),
        (JOB_NAME, " "),
        (CHECKPOINT_DIR, ""),
        *((option, "0") for option in ALL_OPTIONS if ".max-" in option.key),
        (next(option for option in ALL_OPTIONS if "frame" in option.key), "1000001"),
    ],
)
def test_refused_value_names_key_text_layer_and_requirement(option, text):
    message = refusal(Configuration().set_string(option.key, text).get, option)
    assert f"{option.key}={text!r} (from program): the value {option.check.requirement}" in message


@pytest.mark.parametrize("text", ["1", "32768"])
def test_both_ends_of_a_range_are_allowed(text):
    assert Configuration().set_string(MAX_PARALLELISM.key, text).get(MAX_PARALLELISM) == int(text)


def test_fallback_key_is_read_and_loses_to_the_key_itself():
    conf = Configuration().set_boolean("pipeline.operator-chaining", False)
    assert conf.get(OPERATOR_CHAINING) is False
    conf.validate()
    conf.set(OPERATOR_CHAINING, True)
    assert conf.get(OPERATOR_CHAINING) is True


def test_fallback_key_of_a_higher_layer_wins():
    conf = Configuration().set(OPERATOR_CHAINING, True)
    assert (
        conf.layered("file", {"pipeline.operator-chaining": "false"}).get(OPERATOR_CHAINING)
        is False
    )


def test_process_overrides_win_everywhere_and_are_named():
    early = Configuration().set(PARALLELISM, 2).layered("file", {PARALLELISM.key: "3"})
    set_process_overrides("cli", {PARALLELISM.key: "4", "spark.master": "local[2]"})
    late = Configuration().set(PARALLELISM, 5)
    for conf in (early, late):
        assert conf.get(PARALLELISM) == 4
        assert conf.source_of(PARALLELISM) == "cli"
        assert conf.to_dict()["spark.master"] == "local[2]"
    set_process_overrides("cli", {})
    assert (early.get(PARALLELISM), early.source_of(PARALLELISM)) == (3, "file")
    assert (late.get(PARALLELISM), late.source_of(PARALLELISM)) == (5, "program")


def test_process_overrides_are_neither_copied_nor_removed():
    set_process_overrides("cli", {"a": "1"})
    target = Configuration().add_all(Configuration())
    assert target.remove_config("a") is False
    assert target.contains_key("a")
    set_process_overrides("cli", {})
    assert target.to_dict() == {}


def test_copies_are_independent():
    original = Configuration().set_string("a", "1")
    copy = Configuration(original)
    layered = original.layered("file", {"b": "2"})
    copy.set_string("a", "2")
    layered.set_string("a", "3")
    assert original.to_dict() == {"a": "1"}
    assert layered.to_dict() == {"a": "3", "b": "2"}
    assert Configuration(layered) == layered
    assert copy != original


def test_add_all_with_prefix_and_into_a_dict():
    conf = Configuration().set_string("x", "0")
    conf.add_all(Configuration.from_dict({"a": 1}).layered("file", {"b": "2"}), "my.")
    target = {"x": "old", "z": "9"}
    conf.add_all_to_dict(target)
    assert target == {"x": "0", "my.a": 1, "my.b": "2", "z": "9"}


def test_remove_config_reaches_every_layer():
    conf = Configuration().set_string("a", "1").layered("file", {"a": "2"})
    assert conf.remove_config("a") is True
    assert conf.to_dict() == {}


def test_survives_pickling():
    conf = Configuration().set(PARALLELISM, 2).layered("file", {"a": "1"})
    again = pickle.loads(pickle.dumps(conf))
    assert again == conf
    assert again.source_of(PARALLELISM) == "program"


def test_repr_keeps_values_to_itself():
    conf = Configuration().set_string("spark.hadoop.fs.s3a.secret.key", "hush")
    assert repr(conf) == "<Configuration of spark.hadoop.fs.s3a.secret.key>"


@pytest.mark.parametrize("key", ["", None, 4])
def test_refused_keys(key):
    assert "non-empty string" in refusal(Configuration().set, key, "v")


def test_none_is_refused_with_the_way_to_unset():
    assert "remove_config" in refusal(Configuration().set, PARALLELISM, None)


def test_validate_accepts_declared_keys_and_open_prefixes():
    conf = Configuration.from_dict({option.key: "0" for option in (INTERVAL_DURING_BACKLOG,)})
    conf.set_string("spark.master", "local[2]").set_string("spark.anything.at.all", "")
    conf.set_string("pipeline.global-job-parameters.day", "monday")
    conf.validate()
    assert conf.get_string("pipeline.global-job-parameters.day", None) == "monday"


def test_validate_suggests_the_nearest_key():
    message = refusal(Configuration().set_string("parallelism.defualt", "4").validate)
    assert "'parallelism.defualt' (from program)" in message
    assert "Did you mean parallelism.default?" in message


def test_validate_of_a_key_unlike_any_other_points_to_the_page():
    assert "docs/configuration.md" in refusal(Configuration().set_string("zzz", "").validate)


def test_validate_looks_at_every_layer():
    conf = Configuration().layered("file", {"sparkling.master": "x"})
    assert "(from file)" in refusal(conf.validate)
    set_process_overrides("cli", {"pipeline.nam": "x"})
    assert "Did you mean pipeline.name?" in refusal(Configuration().validate)


def test_validate_checks_values():
    assert "parallelism.default='0'" in refusal(Configuration().set(PARALLELISM, 0).validate)


@pytest.mark.parametrize(
    ("backlog", "live", "accepted"),
    [
        (None, "5s", True),
        ("0", "5s", True),
        ("5s", "5s", True),
        ("10s", "5s", True),
        ("10s", None, True),
        ("4999ms", "5s", False),
    ],
)
def test_interval_during_backlog_is_zero_or_not_shorter(backlog, live, accepted):
    given_values = {INTERVAL_DURING_BACKLOG.key: backlog, CHECKPOINT_INTERVAL.key: live}
    conf = Configuration.from_dict({k: v for k, v in given_values.items() if v is not None})
    if accepted:
        conf.validate()
    else:
        message = refusal(conf.validate)
        assert "execution.checkpointing.interval='5s' (from program)" in message
        assert "interval-during-backlog='4999ms' (from program)" in message


def test_parallelism_is_bounded_by_max_parallelism():
    conf = Configuration().set(PARALLELISM, 129)
    assert "pipeline.max-parallelism unset" in refusal(conf.validate)
    conf.set(MAX_PARALLELISM, 129).validate()


def test_bytes_are_given_back():
    conf = Configuration().set_bytearray("b", bytearray([0, 1, 255]))
    assert conf.get_bytearray("b", bytearray()) == bytearray([0, 1, 255])
    assert conf.get_bytearray("absent", bytearray([7])) == bytearray([7])
    assert "not base64" in refusal(conf.set_string("s", "?").get_bytearray, "s", None)
    assert "bytearray" in refusal(conf.set_bytearray, "b", "text")


@pytest.mark.parametrize(
    ("text", "elements"),
    [("", []), (None, []), ("a;b", ["a", "b"]), ("[a, 'b']", ["a", "b"]), ("a", ["a"])],
)
def test_lists_in_text_are_taken_apart(text, elements):
    assert Configuration.parse_list_value(text) == elements


# FLIP-330, rule 1.
def test_a_deprecated_option_that_is_set_is_a_warning() -> None:
    config = Configuration()
    with catch_warnings(record=True) as unset:
        simplefilter("always")
        config.validate()
    config.set_string("pipeline.force-timestamp-support", "false")
    with catch_warnings(record=True) as found:
        simplefilter("always")
        config.validate()
    assert unset == []
    (warning,) = found
    assert warning.category is FutureWarning
    assert str(warning.message).startswith(
        "pipeline.force-timestamp-support is deprecated. A later"
    )
