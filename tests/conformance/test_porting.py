"""Only imports change."""

from __future__ import annotations

from tests.conformance.porting import ported


def test_imports_are_changed_wherever_they_are():
    program = "import pyflink.common\ndef f():\n    from pyflink.datastream import MapFunction\n"
    assert ported(program) == (
        "import penstock.common\ndef f():\n    from penstock.datastream import MapFunction\n"
    )


def test_nothing_else_is_changed():
    program = "words = ['pyflink']  # from pyflink\nimport pyflinker\nfrom pyflinks import x\n"
    assert ported(program) == program
