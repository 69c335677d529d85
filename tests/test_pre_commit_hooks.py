"""The hooks for pre-commit: run as pre-commit runs them, and by pre-commit itself."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command_line import run
from tests.support.expanded_files import write_file

ROOT = Path(__file__).parents[1]
HOOKS: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
)
GOOD = "[Term]\nid: X:1\nname: food\n\n[Term]\nid: X:2\nname: fruit\nis_a: X:1\n"
BAD = GOOD + "\n[Term]\nid: X:3\nname: stone\n"


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_checks_the_files_that_it_gets(tmp_path: Path, hook: dict[str, Any]) -> None:
    program, *command = shlex.split(hook["entry"])
    assert program == "taxoexpan"
    good = str(write_file(tmp_path / "good.obo", GOOD))
    bad = str(write_file(tmp_path / "bad.obo", BAD))
    run(*command, good)
    run(*command, good, bad, status=1)
    run(*command, "--fail-on", "error", good, bad)


def test_the_hooks_run_for_vocabularies_only() -> None:
    for hook in HOOKS:
        names = ("a.ttl", "a.obo", "a.csv", "a.json", "a.md", "attl")
        assert [n for n in names if re.search(hook["files"], n)] == ["a.ttl", "a.obo"]


def test_the_python_hook_is_installed_with_the_tested_versions() -> None:
    (hook,) = (each for each in HOOKS if each["language"] == "python")
    ((name, file),) = (each.split("=") for each in hook["additional_dependencies"])
    assert name == "--constraint"
    assert (ROOT / file).is_file()


@pytest.mark.slow
def test_pre_commit_stops_a_commit_with_a_broken_vocabulary(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    (hook,) = (each for each in HOOKS if each["language"] == "system")
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    write_file(tmp_path / ".pre-commit-config.yaml", yaml.safe_dump(config))
    # A script in the place of the installed one, which may belong to another copy of the source.
    (tmp_path / "bin").mkdir()
    script = write_file(
        tmp_path / "bin" / "taxoexpan", f'#!/bin/sh\nexec {sys.executable} -m taxoexpan "$@"\n'
    )
    script.chmod(0o755)
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    def commit(text: str) -> subprocess.CompletedProcess[str]:
        write_file(tmp_path / "topics.obo", text)
        assert run("git", "add", "topics.obo").returncode == 0
        return run("git", "-c", "user.name=a", "-c", "user.email=a@b.org", "commit", "-m", "x")

    assert run("git", "init", "-q").returncode == 0
    assert run(sys.executable, "-m", "pre_commit", "install").returncode == 0
    stopped = commit(BAD)
    assert stopped.returncode == 1
    assert "X:3 (line 10): 'stone' has neither parent nor child" in stopped.stdout + stopped.stderr
    done = commit(GOOD)
    assert done.returncode == 0, done.stdout + done.stderr
