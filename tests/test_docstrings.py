from __future__ import annotations

import doctest
import shutil
from importlib import import_module
from pathlib import Path

import pytest

import taxoexpan

SOURCE = Path(taxoexpan.__file__).parent
ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(
    ".".join(("taxoexpan", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_docstrings_run_as_printed(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(import_module(module))
    assert not failed
    assert tried


@pytest.mark.parametrize("name", sorted({*taxoexpan.__all__} - {"__version__"}))
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    public = getattr(taxoexpan, name)
    assert ">>> " in (public.__doc__ or "")
    assert public.__module__ in EXAMPLES
