"""Every test asserts something, so that it can fail for another reason than an error; few replace private names."""

from __future__ import annotations

from pathlib import Path

from tests.assertions import without_assertion
from tests.patched_names import patched_names

TESTS = Path(__file__).parent

NOTHING_IS_RAISED = {
    "api/test_written_for_pyflink.py::test_a_field_that_may_be_there_is_accepted",
    "connectors/test_file_sink.py::test_type_that_fits_is_accepted",
    "deploy/test_deploy.py::test_an_object_has_the_schema_of_kubernetes",
    "runtime/test_keys.py::test_getters_are_not_asked_again",
    "spark/test_checkpoint_files.py::test_files_that_are_what_was_written_pass",
    "spark/test_file_columns.py::test_a_file_that_loses_nothing_is_not",
    "sql/test_grammar.py::test_any_text_is_read_or_refused",
    "state/test_directory.py::test_arbitrary_bytes_are_a_directory_or_refused",
    "state/test_replay.py::test_rows_of_broadcast_state_are_signed",
    "test_failpoint.py::test_nothing_happens_unless_it_is_armed",
}
"""Tests of what is not refused: that nothing is raised is all that they say. The list does not grow."""

REPLACED = {
    # What a process has counted or remembers, of tests before
    "api/test_ignored_settings.py::_logged",
    "observe/events/test_listeners.py::_lasting",
    "runtime/test_collector.py::_growth",
    "runtime/test_collector.py::_micro_batches",
    "runtime/test_collector.py::_tasks",
    "spark/test_page.py::_servers",
    "observe/ui/test_changes.py::_servers",
    "observe/ui/test_server.py::_servers",
    # A system that fails, or is another one
    "connectors/postgres/test_postgres_errors.py::_remove",
    "runtime/test_spill_store.py::_is_put",
    "spark/test_known_failures.py::_gateway",
    "spark/test_crashed_workers.py::_active_spark_context",
    "spark/test_crashed_workers.py::_exit",
    "spark/test_crashed_workers.py::_make_session",
    "state/test_lmdb_file.py::_boot_id",
    # Counted, not replaced
    "runtime/test_local_channel.py::_read",
}
"""Private names that tests replace. The list does not grow."""


def test_no_further_private_names_are_replaced() -> None:
    assert patched_names(TESTS) == REPLACED


def test_a_replaced_private_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(monkeypatch):\n"
        "    monkeypatch.setattr(module, '_made', 1)\n"
        "    monkeypatch.setattr('package.module._made_too', 1)\n"
        "    monkeypatch.setattr(module, '_LIMIT', 1)\n"
        "    monkeypatch.setattr(module, 'public', '_text')\n"
        "    monkeypatch.setenv('_NAME', '_value')\n"
    )
    assert patched_names(tmp_path) == {"test_it.py::_made", "test_it.py::_made_too"}


def test_every_test_asserts_something() -> None:
    found = without_assertion(TESTS, [TESTS.parent / "examples", TESTS.parent / "tools"])
    assert {name.removeprefix("tests/") for name in found} == NOTHING_IS_RAISED


def test_a_test_that_asserts_nothing_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "helpers.py").write_text(
        "def check(x):\n    assert x\n\ndef call(x):\n    check(x)\n"
    )
    (folder / "test_it.py").write_text(
        "import subprocess, pytest\n"
        "from tests.helpers import call as called\n"
        "def test_by_helper(): called(1)\n"
        "def test_by_error():\n    with pytest.raises(ValueError): int('a')\n"
        "def test_by_status(): subprocess.run(['x'], check=True)\n"
        "def test_by_fixture(check): pass\n"
        "def test_of_nothing(): int('1')\n"
        "def test_of_the_status_of_nobody(): subprocess.run(['x'], check=False)\n"
    )
    assert without_assertion(folder, []) == {
        "tests/test_it.py::test_by_fixture": 7,
        "tests/test_it.py::test_of_nothing": 8,
        "tests/test_it.py::test_of_the_status_of_nobody": 9,
    }
