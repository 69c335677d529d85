"""The documents: their sizes, their links, and the options and settings that they mention."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reproduction.__main__ import build_parser as reproduction_parser
from taxoexpan.cli.main import build_parser
from taxoexpan.config import SETTINGS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CURRENT = [p for p in PAGES if "decisions" not in p.parts and p.name != "CHANGELOG.md"]
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


def options() -> set[str]:
    return {
        option
        for parser in (*subparsers(build_parser()), *subparsers(reproduction_parser()))
        for action in parser._actions
        for option in action.option_strings
    }


@pytest.mark.parametrize(("page", "kilobytes"), [("README.md", 8), ("ARCHITECTURE.md", 6)])
def test_the_entry_documents_stay_short(page: str, kilobytes: int) -> None:
    assert (ROOT / page).stat().st_size <= kilobytes * 1024


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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_setting_in_the_documents_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"--set ([a-z_]+)=", text))
    names |= set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?:=| = )[^`]+`", text))
    assert names - set(SETTINGS) - {"place"} == set()


def test_the_tests_that_the_security_policy_names_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)`", text)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
