from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from taxoexpan import diagnosis
from taxoexpan.diagnosis import PURPOSES, attempt, examine_folder

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_every_extra_for_users_has_a_purpose() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert set(PURPOSES) == set(project["optional-dependencies"]) - {"dev", "docs"}


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import json", None),
        ("print('{}')", None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "SIGILL"),
        ("import absent_package", "ModuleNotFoundError: No module named 'absent_package'"),
        ("import os; os._exit(3)", "status 3"),
        ("raise OSError('libbroken.so: cannot open')", "OSError: libbroken.so: cannot open"),
    ],
)
def test_an_import_that_fails_or_ends_the_process_is_a_problem(
    code: str, problem: str | None
) -> None:
    found = attempt(code)[1]
    assert found is None if problem is None else problem in str(found)


def test_an_import_that_does_not_end_is_stopped() -> None:
    assert "more than 1 s" in str(attempt("import time; time.sleep(60)", timeout=1)[1])


def test_a_file_of_the_current_folder_is_not_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "local_file.py").touch()
    monkeypatch.chdir(tmp_path)
    assert "No module named" in str(attempt("import local_file")[1])


def test_missing_and_outdated_packages_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "1.13.1", "numpy": None, "openpyxl": None, "mcp": None}
    installed = diagnosis._installed
    monkeypatch.setattr(
        diagnosis,
        "_installed",
        lambda name: versions[name] if name in versions else installed(name),
    )
    monkeypatch.setattr(diagnosis, "attempt", lambda _: ({}, None))
    found = diagnosis.examine()
    problems = {each.name: (each.problem, each.fix) for each in found.packages if each.problem}
    assert set(problems) == {"torch", "numpy", "openpyxl"}
    assert problems["torch"][0] == "version 1.13.1 is installed"
    assert problems["numpy"][0] == "not installed"
    assert str(problems["numpy"][1]).startswith("pip install 'numpy>=")
    extras = {each.name: each for each in found.extras}
    assert extras["mcp"].missing[0].startswith("mcp>=")
    assert extras["mcp"].fix == "pip install 'taxoexpan[mcp]'"
    assert extras["web"].installed
    assert found.memory is None or found.memory > 2**20
    assert found.processors >= 1
    assert not found.as_dict()["works"]


def test_an_old_python_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "attempt", lambda _: ({}, None))
    assert diagnosis.examine().problems == []
    monkeypatch.setattr("platform.python_version", lambda: "3.10.1")
    assert diagnosis.examine().problems[0].startswith("Python 3.10.1 is not >=3.11")


def test_the_state_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "vectors").write_bytes(b"x" * 1000)
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    state = examine_folder(tmp_path)
    assert (state.size, state.problem) == (1000, None)
    assert state.free > 0
    assert examine_folder(tmp_path / "a" / "b").problem is None
    assert not (tmp_path / "a").exists()
    assert "cannot be written to" in str(examine_folder(Path("/proc/taxoexpan")).problem)
    monkeypatch.setenv("TAXOEXPAN_CACHE", os.fspath(tmp_path))
    cache = diagnosis._cache()
    assert cache is not None
    assert cache.path == str(tmp_path)
    monkeypatch.setenv("TAXOEXPAN_CACHE", "")
    assert diagnosis._cache() is None
