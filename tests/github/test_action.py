"""The description of the GitHub Action, the workflows of the example, and the start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from taxoexpan.github.action import main
from tests.support.expanded_files import write_file
from tests.support.github_runner import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXAMPLE = ROOT / "examples" / "vocabulary-repository"
WORKFLOWS = sorted((EXAMPLE / ".github" / "workflows").glob("*.yml"))


def test_no_expression_is_part_of_a_shell_script() -> None:
    """Text of a user in a script would be run by the shell."""
    steps = list(ACTION["runs"]["steps"])
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            steps += job["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)


def test_only_actions_of_github_are_used() -> None:
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert [name.partition("@")[0] for name in used] == [
        "actions/setup-python",
        "github/codeql-action/upload-sarif",
    ]


def test_actions_of_others_are_pinned_by_their_commit() -> None:
    files = [ROOT / "action.yml", *WORKFLOWS, *(ROOT / "docs").rglob("*.md")]
    files += (ROOT / ".github").rglob("*.yml")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    used = [line.partition("uses: ")[2] for line in lines if re.match(r" *(- )?uses: ", line)]
    # The examples stand for a repository of the reader, with a version of its own.
    foreign = [name for name in used if not name.startswith(("./", "your-organization/"))]
    assert len(foreign) >= 5
    assert [n for n in foreign if not re.fullmatch(r"\S+@[0-9a-f]{40}  # v[\d.]+", n)] == []


def test_every_input_is_used_and_every_output_is_written() -> None:
    text = json.dumps(ACTION["runs"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in text] == []
    modules = (ROOT / "src" / "taxoexpan" / "github").glob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in modules)
    assert [name for name in ACTION["outputs"] if f'"{name}"' not in text] == []


def test_the_workflows_give_only_inputs_that_exist() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            (step,) = (each for each in job["steps"] if "/taxoexpan@" in each.get("uses", ""))
            assert step["with"].keys() <= ACTION["inputs"].keys()


@pytest.mark.parametrize(
    ("version", "extras", "package"),
    [
        ("", "", "/action"),
        ("", "transformers, web", "/action[transformers,web]"),
        ("1.1.0", "", "taxoexpan==1.1.0"),
        ("1.1.0", "web", "taxoexpan[web]==1.1.0"),
    ],
)
def test_the_package_of_the_inputs_is_installed(
    tmp_path: Path, version: str, extras: str, package: str
) -> None:
    python = write_file(tmp_path / "python", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == "Install taxoexpan")
    given = {"TAXOEXPAN_VERSION": version, "TAXOEXPAN_EXTRAS": extras}
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_ACTION_PATH": "/action", **given}
    assert environment.keys() >= step["env"].keys()
    ran = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.splitlines()[:4] == ["-P", "-m", "pip", "install"]
    assert ran.stdout.splitlines()[-3:] == ["--constraint", "/action/constraints.txt", package]


def test_an_error_is_an_annotation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"], {"TAXOEXPAN_COMMANDS": "50%\n"}) == 1
    shown = "::error title=taxoexpan::unknown command '50%25'; choose from check, diff, suggest\n"
    assert capsys.readouterr().out == shown


def test_modules_of_the_repository_are_not_imported(tmp_path: Path) -> None:
    for name in ("json.py", "taxoexpan.py"):
        write_file(tmp_path / name, "raise SystemExit(3)\n")
    path = write_file(tmp_path / "food.csv", "child,parent\nfig,fruit\nfruit,food\n")
    environment = {
        "PYTHONPATH": str(ROOT / "src"),
        "RUNNER_TEMP": str(tmp_path),
        "TAXOEXPAN_COMMANDS": "check",
        "TAXOEXPAN_FILES": path.name,
    }
    command = [sys.executable, "-P", "-m", "taxoexpan.github", "run"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert ran.stderr == b""
