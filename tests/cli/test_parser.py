from __future__ import annotations

import pytest

from taxoexpan.cli.main import main


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
def test_misspelled_commands_and_options_are_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert message in captured.err.splitlines()[-1]
    assert captured.out == ""


def test_abbreviated_options_are_not_called_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--pres", "fast", "x"])
    assert capsys.readouterr().err.endswith("required: -o/--output\n")


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "the usual workflow:\n  taxoexpan check topics.ttl\n" in captured.err
    assert captured.err.endswith("taxoexpan: no command is given; try taxoexpan demo\n")
