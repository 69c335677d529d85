from __future__ import annotations

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.shared_options import ReadingOptions
from tests.support.command_line import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian", "x"], "unknown command 'trian'; did you mean train?"),
        (["qqqqqq"], "unknown command 'qqqqqq'; see taxoexpan --help for all of them"),
        (["train", "x", "-o", "m", "--presett=fast"], "--presett; did you mean --preset?"),
        (["train", "--ouput", "m", "x"], "unknown option --ouput; did you mean --output?"),
        (["check", "x", "--qqqqqq"], "--qqqqqq; see taxoexpan check --help for all"),
        (["info", "x", "y"], "unexpected argument 'y'; omit it, or put quotes around a name"),
        (["info", "x", "--\x1b[31m"], r"unknown option --\x1b[31m"),
    ],
)
def test_misspelled_commands_and_options_are_named(arguments: list[str], message: str) -> None:
    captured = run(*arguments, status=2)
    assert message in captured.err.splitlines()[-1]
    assert captured.out == ""


def test_an_empty_separator_is_refused() -> None:
    captured = run("info", "x.csv", "--separator", "", status=2)
    assert "argument --separator: '' is not a text" in captured.err
    with pytest.raises(ConfigurationError, match="separator is ''"):
        ReadingOptions(separator="")


def test_abbreviated_options_are_not_called_unknown() -> None:
    assert run("train", "--pres", "fast", "x", status=2).err.endswith("required: -o/--output\n")


def test_without_a_command_the_help_is_printed() -> None:
    captured = run(status=2)
    assert captured.out == ""
    assert "the usual workflow:\n  taxoexpan check topics.ttl\n" in captured.err
    assert captured.err.endswith("taxoexpan: no command is given; try taxoexpan demo\n")
