"""The guide to pull requests: its commands run, and its files are their results."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.kgcl_grammar import rule_of

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "pull-requests.md"
TEXT = GUIDE.read_text(encoding="utf-8")
FILES = dict(re.findall(r'```\w+ title="(.+?)"\n(.*?)```', TEXT, re.DOTALL))
COMMANDS = re.findall(r"```console\ntaxoexpan (.+?)\n```", TEXT)
INPUTS = ("drinks.ttl", "decisions.csv")
_CHANGING = re.compile(r'(?<=_version: )".*"|(?<=_date: )".*"')
"""The version of the program and the date."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the guide after its first command."""
    monkeypatch.chdir(tmp_path)
    for name in INPUTS:
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    run(*shlex.split(COMMANDS[0]))
    return tmp_path


@pytest.mark.parametrize("name", [name for name in FILES if name not in INPUTS])
def test_the_files_in_the_guide_are_the_results_of_its_commands(folder: Path, name: str) -> None:
    written = (folder / name).read_text(encoding="utf-8")
    assert _CHANGING.sub("…", written) == _CHANGING.sub("…", FILES[name])


def test_the_guide_shows_all_three_formats() -> None:
    assert {Path(name).suffix for name in FILES} == {".ttl", ".csv", ".md", ".kgcl", ".tsv"}
    kinds = [rule_of(line) for line in FILES["changes.kgcl"].splitlines()]
    assert set(kinds) == {"create", "create_edge", "move", "create_synonym"}


@pytest.mark.usefixtures("folder")
def test_a_comparison_of_the_versions_says_the_same() -> None:
    captured = run(*shlex.split(COMMANDS[1]), status=1)
    assert captured.out == FILES["changes.md"].replace("drinks.ttl", "drinks-new.ttl")
    assert captured.err == "note: same concepts: 3 by id\n"
    printed = run("diff", "drinks.ttl", "drinks-new.ttl", "--to", "kgcl", status=1).out
    assert printed == FILES["changes.kgcl"]


def test_git_makes_a_patch_of_the_output(folder: Path) -> None:
    expected = (folder / "drinks-new.ttl").read_bytes()
    ((apply, diff),) = re.findall(r"```\ntaxoexpan (apply .+)\n(git diff .+)\n```", TEXT)
    for command in (["init", "-q"], ["add", "drinks.ttl"]):
        subprocess.run(["git", *command], check=True)
    run(*shlex.split(apply))
    subprocess.run(["bash", "-ec", diff], check=True)
    subprocess.run(["git", "restore", "drinks.ttl"], check=True)
    assert (folder / "drinks.ttl").read_text(encoding="utf-8") == FILES["drinks.ttl"]
    subprocess.run(["git", "apply", "changes.patch"], check=True)
    assert (folder / "drinks.ttl").read_bytes() == expected
