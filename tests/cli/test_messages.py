from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.cli.messages import note, print_line, with_flags
from taxoexpan.errors import ConfigurationError, FormatError


@pytest.mark.parametrize(
    ("message", "options", "shown"),
    [
        ("x exists; use force=True", ("force=True",), "x exists; use --force"),
        ("choose with work=FOLDER", ("work=FOLDER",), "choose with --work FOLDER"),
        ("a and b_c differ", ("b_c", "a"), "--a and --b-c differ"),
        ("give suggestions", (), "give suggestions"),
    ],
)
def test_options_are_shown_as_flags(message: str, options: tuple[str, ...], shown: str) -> None:
    assert with_flags(ConfigurationError(message).naming(*options)) == shown


def test_settings_are_shown_with_their_flag() -> None:
    error = ConfigurationError("set hidden_dim=8, or use force=True")
    shown = with_flags(error.naming("force=True", settings=["hidden_dim=8"]))
    assert shown == "set --set hidden_dim=8, or use --force"


def test_only_the_last_occurrence_of_an_option_is_a_flag() -> None:
    error = FormatError(Path("features/features"), "moved; give features").naming("features")
    assert with_flags(error) == "features/features: moved; give --features"


def test_a_message_shows_control_characters_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    note("already present: a\x1b[2J\x9b is\rb\nlisted")
    assert capsys.readouterr().err == "already present: a\\x1b[2J\\x9b is\\rb\n  listed\n"
    note("\nstopped")
    assert capsys.readouterr().err == "\nstopped\n"


def test_a_line_for_people_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("added a\nb\x1b")
    assert capsys.readouterr().out == "added a\\nb\\x1b\n"


def test_an_error_does_not_repeat_a_whole_file() -> None:
    error = FormatError(Path("x.csv"), f"{'y' * 18_000!r} is no label; give name=NAME", 7)
    shown = with_flags(error.naming("name=NAME"))
    assert len(shown) < 300
    assert shown.startswith("x.csv, line 7: 'yyy")
    assert shown.endswith("is no label; give --name NAME")
