"""Tests of the required packages and the extras."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from taxoexpan.diagnosis import installed_packages
from taxoexpan.diagnosis.import_trial import Trial
from taxoexpan.diagnosis.installed_packages import (
    PURPOSES,
    Extra,
    extras,
    python_version,
    required_packages,
)

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_every_extra_for_users_has_a_purpose() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert set(PURPOSES) == set(project["optional-dependencies"]) - {"dev", "docs"}


def test_a_failed_import_is_a_problem_with_a_fix() -> None:
    packages = required_packages({"sklearn": Trial("sklearn", "OSError: libgomp.so")})
    problems = {each.name: each.problem for each in packages if each.problem}
    assert problems == {"scikit-learn": "OSError: libgomp.so"}
    (broken,) = (each for each in packages if each.problem)
    assert broken.fix == f"pip install --force-reinstall 'scikit-learn{broken.required}'"


def test_missing_and_outdated_packages_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "1.13.1", "numpy": None}
    installed = installed_packages._installed
    monkeypatch.setattr(
        installed_packages,
        "_installed",
        lambda name: versions[name] if name in versions else installed(name),
    )
    found = {each.name: each for each in required_packages({})}
    assert found["torch"].problem == "version 1.13.1 is installed"
    assert found["numpy"].problem == "not installed"
    assert found["numpy"].fix.startswith("pip install 'numpy>=")
    assert found["scipy"].problem is None


def test_an_extra_names_the_packages_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = installed_packages._installed
    monkeypatch.setattr(
        installed_packages,
        "_installed",
        lambda name: None if name == "openpyxl" else installed(name),
    )
    found = {each.name: each for each in extras()}
    assert found["excel"].missing[0].startswith("openpyxl>=")
    assert found["excel"].fix == "pip install 'taxoexpan[excel]'"
    assert isinstance(found["web"], Extra)
    assert found["web"].missing == ()


def test_this_python_is_supported() -> None:
    assert python_version().problem is None


def test_an_old_python_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.python_version", lambda: "3.10.1")
    assert str(python_version().problem).startswith("Python 3.10.1 is not >=3.11")
