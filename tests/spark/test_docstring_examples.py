"""Examples in docstrings that need Spark, and are skipped without it, give what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest
from pyspark.sql import SparkSession

from tests.docs.test_examples import modules_with_examples, namespace_of

PLACES = ("penstock.api.", "penstock.connectors.")
"""Where they are run. `penstock.inspection` shows a directory that a reader would have."""


def skipped_examples() -> list[doctest.DocTest]:
    found = []
    for name in modules_with_examples():
        if name.startswith(PLACES):
            module = importlib.import_module(name)
            tests = doctest.DocTestFinder(exclude_empty=True).find(module, name)
            found += [
                test
                for test in tests
                if any(doctest.SKIP in example.options for example in test.examples)
            ]
    return found


@pytest.mark.parametrize("test", skipped_examples(), ids=lambda test: test.name)
def test_an_example(test: doctest.DocTest, session: SparkSession) -> None:
    module = importlib.import_module(test.globs["__name__"])
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    test.globs = namespace_of(module) | {"spark": session}
    wrong: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=wrong.append)
    assert not wrong, "".join(wrong)
