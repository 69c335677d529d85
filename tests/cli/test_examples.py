from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from taxoexpan.cli.examples import EXAMPLES, GROUPS, WORKFLOW
from taxoexpan.cli.main import build_parser

ASSIGNMENT = re.compile(r"[A-Z_]+=")


def commands(
    parser: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                yield f"{prefix}{name}", subparser
                yield from commands(subparser, f"{prefix}{name} ")


PARSER = build_parser()
ALL = dict(commands(PARSER))


def words_of(example: str) -> list[str]:
    """The arguments of an example, without variables in front of it and a redirection."""
    words = [word for word in shlex.split(example) if not ASSIGNMENT.match(word)]
    words = words[words.index("taxoexpan") + 1 :]
    return words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_examples_that_its_parser_accepts(name: str) -> None:
    examples = EXAMPLES[name]
    assert 1 <= len(examples) <= 4
    help = ALL[name].format_help()
    for example in examples:
        assert f"\n  {example}\n" in help  # on one line, ready to be copied
        words = words_of(example)
        assert " ".join(words).startswith(name)
        PARSER.parse_args(words)


@pytest.mark.parametrize(
    "example", [e for examples in (*EXAMPLES.values(), WORKFLOW) for e in examples]
)
def test_examples_spell_options_in_full(example: str) -> None:
    """An abbreviation would be accepted until another option begins like it."""
    words = words_of(example)
    name = max((n for n in ALL if " ".join(words).startswith(n)), key=len, default=None)
    if name is None:  # a command of another release
        pytest.skip("no such command")
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert options <= set(ALL[name]._option_string_actions)


def test_the_help_lists_every_command_in_a_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert {name for name in ALL if " " not in name} <= set(grouped)
    help = build_parser().format_help()
    places = [help.index(f"{title}:\n  {names[0]} ") for title, names in GROUPS.items()]
    assert places == sorted(places)
