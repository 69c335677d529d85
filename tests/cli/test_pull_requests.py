"""The guide to pull requests: its commands run, and its files are their results."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from kgcl_grammar import rule_of

from taxoexpan.cli.main import main

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
    assert main(shlex.split(COMMANDS[0])) == 0
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
def test_a_comparison_of_the_versions_says_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    capsys.readouterr()
    assert main(shlex.split(COMMANDS[2])) == 1
    captured = capsys.readouterr()
    assert captured.out == FILES["changes.md"].replace("drinks.ttl", "drinks-new.ttl")
    assert captured.err == "note: same concepts: 3 by id\n"
    assert main(["diff", "drinks.ttl", "drinks-new.ttl", "--to", "kgcl"]) == 1
    assert capsys.readouterr().out == FILES["changes.kgcl"]


def test_a_patch_makes_the_same_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = (folder / "drinks-new.ttl").read_bytes()
    command = shlex.split(next(each for each in COMMANDS if "--patch" in each))
    subprocess.run(["git", "init", "-q"], check=True)
    assert main(command) == 0
    assert "patch in" in capsys.readouterr().err
    assert (folder / "drinks.ttl").read_text(encoding="utf-8") == FILES["drinks.ttl"]
    subprocess.run(["git", "apply", command[command.index("--patch") + 1]], check=True)
    assert (folder / "drinks.ttl").read_bytes() == expected
    assert main([*command[: command.index("--patch")], "--force"]) == 2
    assert "give -o OUT, or --patch FILE" in capsys.readouterr().err
