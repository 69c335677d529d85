"""Tests of `taxoexpan doctor`."""

from __future__ import annotations

import json
import os
from importlib.metadata import requires
from pathlib import Path

import pytest
from command_line import run

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
