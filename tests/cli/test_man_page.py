"""Tests of the manual page."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import taxoexpan
from taxoexpan.cli.main import build_parser
from taxoexpan.cli.man_page import man_page


@pytest.fixture(scope="module")
def page() -> str:
    return man_page(build_parser(), "1.2.3")


@pytest.fixture(scope="module")
def rendered(page: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as a reader sees it, on lines that are never broken."""
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    path = tmp_path_factory.mktemp("man") / "taxoexpan.1"
    path.write_text(page, encoding="utf-8")
    command = ["mandoc", "-T", "utf8", "-O", "width=900", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return re.sub(".\b", "", done.stdout)


def _parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [each for sub in action.choices.values() for each in _parsers(sub)]
    return found


def test_every_command_option_and_help_text_is_shown(rendered: str) -> None:
    words = " ".join(rendered.split())
    for parser in _parsers(build_parser()):
        formatter = parser._get_formatter()
        assert " ".join((parser.description or "").split()) in words
        for action in parser._actions:
            assert all(option in words for option in action.option_strings)
            if action.help and not isinstance(action, argparse._HelpAction):
                assert " ".join(formatter._expand_help(action).split()) in words


def test_every_environment_variable_is_described(page: str) -> None:
    package = Path(taxoexpan.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    variables = {name for text in sources for name in re.findall(r"TAXOEXPAN_[A-Z]+", text)}
    assert {name for name in variables if f"\n{name}\n" not in page} == set()


@pytest.mark.parametrize(
    "command", [["mandoc", "-T", "lint", "-W", "warning"], ["man", "--warnings", "-l"]]
)
def test_formatters_accept_the_page(page: str, command: list[str], tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    path = tmp_path / "taxoexpan.1"
    path.write_text(page, encoding="utf-8")
    done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    messages = done.stdout if command[0] == "mandoc" else done.stderr
    # The page has no date, so that the same source always gives the same wheel.
    assert [line for line in messages.splitlines() if "missing date" not in line] == []


def test_text_that_looks_like_a_command_is_shown() -> None:
    parser = argparse.ArgumentParser(prog="tool", description="A tool.")
    parser.add_argument("--out", help=".npz or 'quoted' with a \\ and 100%% more")
    page = man_page(parser, "1.0")
    assert "\\&.npz or 'quoted' with a \\e and 100% more" in page


def test_examples_keep_their_lines() -> None:
    parser = argparse.ArgumentParser(
        prog="tool", description="A tool.", epilog="Examples:\n  tool a\n  tool b\n\nMore text."
    )
    page = man_page(parser, "1.0")
    assert ".nf\nExamples:\n  tool a\n  tool b\n.fi\n.PP\nMore text.\n" in page
