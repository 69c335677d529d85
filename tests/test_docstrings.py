from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import taxoexpan

SOURCE = Path(taxoexpan.__file__).parent
EXAMPLES = sorted(
    ".".join(("taxoexpan", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_docstrings_run_as_printed(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module))
    assert not failed
    assert tried


def test_there_are_examples() -> None:
    assert "taxoexpan.taxonomy.taxonomy" in EXAMPLES
