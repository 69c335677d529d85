"""The tutorial, command by command, as printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
EXIT_STATUS = {"check": 1, "diff": 1}
"""Commands that end so because there are warnings or differences."""
INTERACTIVE = ("make install", "source ", "taxoexpan review")


def commands() -> list[str]:
    """Return all lines of the code blocks that are commands."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL, re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    return [line for line in lines if line.startswith(("cp ", "taxoexpan ", *INTERACTIVE))]


@pytest.mark.slow
def test_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    data = tmp_path / "src" / "taxoexpan" / "data"
    data.mkdir(parents=True)
    for name in ("food.csv", "new-foods.csv"):
        shutil.copy(ROOT / "src" / "taxoexpan" / "data" / name, data)
    command = f'#!/bin/sh\nexec "{sys.executable}" -m taxoexpan "$@"\n'
    program = tmp_path / "bin" / "taxoexpan"
    program.parent.mkdir()
    program.write_text(command)
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    said = ""
    for line in commands():
        if line.startswith(INTERACTIVE):
            continue
        ran = subprocess.run(
            line, shell=True, cwd=tmp_path, capture_output=True, text=True, env=environment
        )
        expected = EXIT_STATUS.get(line.split()[1], 0) if line.startswith("taxoexpan") else 0
        assert ran.returncode == expected, f"{line}\n{ran.stderr}"
        said += ran.stdout + ran.stderr
    (code,) = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    command = [sys.executable, "-W", "ignore::UserWarning", "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("2 new concepts, 6 suggestions\noat milk\n")
    old = (tmp_path / "taxonomy.csv").read_bytes()
    for name in ("taxonomy-v2.csv", "taxonomy-v4.csv"):
        assert (tmp_path / name).read_bytes().startswith(old)
    assert "already present: 'coconut water' is 'coconut milk'" in said
    assert re.search(r"\d+ concepts and \d+ relations added", said)


def test_the_tutorial_has_commands() -> None:
    assert sum(line.startswith("taxoexpan ") for line in commands()) > 5
