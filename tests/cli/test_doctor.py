"""Tests of `taxoexpan doctor`."""

from __future__ import annotations

import json
import os
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from command_line import run

from taxoexpan.cli import doctor
from taxoexpan.cli.doctor import PURPOSES, attempt

SLOW_IMPORTS = ("numpy", "openpyxl", "pydantic", "pyoxigraph", "scipy", "wordllama")


@pytest.mark.slow
def test_a_working_installation_has_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(tmp_path / "cache"))
    output = run("doctor", "--json")
    assert output.err == ""
    found = json.loads(output.out)
    assert found["works"] is True
    assert found["problems"] == []
    assert found["torch"]["devices"][0] == "cpu"
    assert {each["name"]: each["problem"] for each in found["encoders"]}["static"] is None
    assert {"name": "torch", "problem": None}.items() <= next(
        each.items() for each in found["packages"] if each["name"] == "torch"
    )
    assert found["cache"]["path"] == str(tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ImportError('libtorch_cpu.so: no such file')", "ImportError: libtorch_cpu.so"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "ends Python with SIGILL"),
    ],
)
def test_a_broken_torch_is_reported_with_the_fix(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SLOW_IMPORTS:  # empty modules, because only torch matters here
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "torch.py").write_text(code, encoding="utf-8")
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(tmp_path), before] if before else [str(tmp_path)])
    monkeypatch.setenv("PYTHONPATH", path)
    output = run("doctor", status=1)
    assert "torch         cannot be used" in output.out
    assert output.out.endswith("1 problem found\n")
    (message,) = output.err.splitlines()
    assert message.startswith("taxoexpan: torch: ")
    assert reason in message
    (torch,) = (each for each in requires("taxoexpan") or () if each.startswith("torch>="))
    assert message.endswith(f"; pip install --force-reinstall '{torch}'")
    assert "Traceback" not in output.out + output.err


PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


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

    def other_version(name: str) -> str:
        found = versions[name] if name in versions else version(name)
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(doctor, "version", other_version)
    monkeypatch.setattr(doctor, "attempt", lambda _: ({}, None))
    found = doctor.examine()
    problems = {p["name"]: (p["problem"], p["fix"]) for p in found["packages"] if p["problem"]}
    assert set(problems) == {"torch", "numpy", "openpyxl"}
    assert problems["torch"][0] == "version 1.13.1 is installed"
    assert problems["numpy"][0] == "not installed"
    assert problems["numpy"][1].startswith("pip install 'numpy>=")
    extras = {each["name"]: each for each in found["extras"]}
    assert extras["mcp"]["missing"][0].startswith("mcp>=")
    assert extras["mcp"]["fix"] == "pip install 'taxoexpan[mcp]'"
    assert not extras["web"]["missing"]
    assert not found["works"]


def test_the_state_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "vectors").write_bytes(b"x" * 1000)
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(tmp_path))
    cache = doctor._cache()
    assert cache is not None
    assert (cache["path"], cache["size"], cache["problem"]) == (str(tmp_path), 1000, None)
    assert cache["free"] > 0
    monkeypatch.setenv("TAXOEXPAN_CACHE", "/proc/taxoexpan")
    assert "cannot be written to" in str(doctor._cache())
    monkeypatch.setenv("TAXOEXPAN_CACHE", "")
    assert doctor._cache() is None
