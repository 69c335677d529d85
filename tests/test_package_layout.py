"""Promises about the package itself that a newcomer can rely on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import taxoexpan

PACKAGE = Path(taxoexpan.__file__).parent
TESTS = Path(__file__).parent


def test_no_module_name_occurs_twice() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_test_module_name_occurs_twice() -> None:
    names = Counter(path.stem for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_package_says_what_it_is() -> None:
    for init in PACKAGE.rglob("__init__.py"):
        assert init.read_text(encoding="utf-8").startswith('"""'), init


def test_tests_mirror_the_package() -> None:
    """Every folder of tests, but that of the benchmarks, has a package of the same name."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    unknown = [f for f in folders if not (PACKAGE / f).is_dir() and f != Path("benchmarks")]
    assert unknown == []


def test_public_names_are_importable() -> None:
    for name in taxoexpan.__all__:
        assert getattr(taxoexpan, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = taxoexpan.nothing
