"""The documents: their links, examples, and the options and settings that they mention."""

from __future__ import annotations

import argparse
import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from reproduction.__main__ import build_parser as reproduction_parser
from taxoexpan.cli.main import build_parser
from taxoexpan.config import SETTINGS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PRESENT = [page for page in PAGES if page.name != "archive-1.0.0.md"]
CURRENT = [p for p in PRESENT if "decisions" not in p.parts and p.name != "CHANGELOG.md"]
DOCKER = {"--build-arg", "--read-only", "--rm", "--tag", "--tmpfs", "--user", "--volume"}
MUTATION_SCORE = {"--processes", "--seconds"}
OTHER_TOOLS = {"--env-file", "--no-deps", "--set-upstream", *DOCKER, *MUTATION_SCORE}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from subparsers(subparser)


@cache
def options() -> set[str]:
    return {
        option
        for parser in (*subparsers(build_parser()), *subparsers(reproduction_parser()))
        for action in parser._actions
        for option in action.option_strings
    }


def test_the_python_example_of_the_readme_runs_as_pasted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["2 new concepts, 4 suggestions", "talking drum"]
    assert lines[2].split()[2] in ("drums", "percussion")
    old = (tmp_path / "examples" / "instruments.ttl").read_bytes()
    assert (tmp_path / "instruments-v2.ttl").read_bytes().startswith(old)


def test_the_version_to_cite_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_to_existing_files(page: Path) -> None:
    """Also those of the repository: there are no generated pages outside the built site."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for link in links:
        if "://" not in link:
            target = (page.parent / link).resolve()
            assert target.exists(), link


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_every_option_in_the_documents_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = "\n".join(line for line in text.splitlines() if "taxoexpan " in line)
    mentioned = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", commands))
    mentioned |= set(re.findall(r"`(--[a-z][a-z-]+)", text))
    assert mentioned - options() - OTHER_TOOLS == set()


@pytest.mark.parametrize("page", PRESENT, ids=name_of)
def test_every_setting_in_the_documents_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"--set ([a-z_]+)=", text))
    names |= set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?:=| = )[^`]+`", text))
    own = {"place", "ridge"}  # ridge is a setting of the method in guides/own-methods.md
    assert names - set(SETTINGS) - own == set()


def test_the_tests_that_the_security_policy_names_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)`", text)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
