from __future__ import annotations

import os
import pty
import sys
import termios
from pathlib import Path

import pytest
from pseudo_terminal import run_in_terminal

from taxoexpan.progress import Progress, tell_at_most


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def lines_of(
    capsys: pytest.CaptureFixture[str], seconds: float, total: int | None, steps: int
) -> list[str]:
    """The lines that work prints whose every step takes so many seconds."""
    clock = Clock()
    with Progress("encoding", total, "texts", shown=True, clock=clock) as bar:
        for _ in range(steps):
            clock.now += seconds
            bar.update()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "\r" not in captured.err
    assert "\x1b" not in captured.err
    return captured.err.splitlines()


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(capsys, 0.004, 1000, 1000) == []


def test_a_log_gets_few_lines_with_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, 1, 36_000, 36_000)
    assert lines[0] == "encoding: 0 % (6 of 36,000 texts), about 10 h left"
    assert lines[1] == "encoding: 0 % (36 of 36,000 texts), about 10 h left"
    assert len(lines) < 40


def test_work_of_unknown_size_says_how_much_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(capsys, 1, None, 65) == ["encoding: 6 texts", "encoding: 36 texts"]


def test_bytes_and_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("reading", 4_000_000_000, "bytes", shown=True, clock=clock) as bar:
        bar.move_to(0)
        clock.now += 10
        bar.remark("loss 0.250")
        bar.move_to(1_000_000_000)
    expected = "reading: 25 % (1.00GB of 4.00GB), about 30 s left, loss 0.250\n"
    assert capsys.readouterr().err == expected


def test_what_was_done_before_and_a_slow_start_do_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with Progress("fine-tuning", 100, "batches", shown=True, done=90, clock=clock) as bar:
        clock.now += 1000  # the model is loaded
        bar.update()
        clock.now += 30
        bar.update()
    assert capsys.readouterr().err == "fine-tuning: 92 % (92 of 100 batches), about 4 min left\n"


def test_nothing_is_shown_unless_wanted_or_without_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    for shown in (False, True):
        if shown:
            monkeypatch.setattr(sys, "stderr", None)
        with Progress("encoding", 10, "texts", shown=shown, clock=clock) as bar:
            for _ in bar.each(range(10)):
                clock.now += 100
        assert bar.done == 10
    tell_at_most("up to 3 more epochs", 1000)  # tqdm would print it on standard output
    monkeypatch.undo()
    assert capsys.readouterr() == ("", "")


def test_an_upper_limit_is_told_only_for_long_work(capsys: pytest.CaptureFixture[str]) -> None:
    tell_at_most("up to 9 more epochs", 59)
    tell_at_most("up to 9 more epochs", 600)
    assert capsys.readouterr().err == "up to 9 more epochs: at most 10 min more\n"
    tell_at_most("up to 9 more epochs", 600, "the encoder is fine-tuned")
    assert capsys.readouterr().err.endswith("10 min more; then the encoder is fine-tuned\n")


COLORS = ("CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHON_COLORS")


def read_all(terminal: int) -> str:
    """What was written to a terminal whose other side is closed, or will be."""
    read = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other side was closed
            break
        if not part:
            break
        read += part
    os.close(terminal)
    return read.decode().replace("\r\n", "\n")


def shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    """What 1,000 steps of a quarter of a second show if standard error is a terminal."""
    for name in COLORS:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **variables}.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    clock = Clock()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Progress("encoding", 1000, "texts", shown=True, clock=clock) as bar:
            for _ in bar.each(range(1000)):
                clock.now += 0.25
        monkeypatch.undo()
    return read_all(ours)


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_on_a_terminal(monkeypatch, NO_COLOR="1")
    assert "\rencoding:   0%|" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"CI": "true"}])
def test_a_dumb_terminal_and_a_ci_get_lines(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shown_on_a_terminal(monkeypatch, **variables)
    assert "\r" not in shown
    assert "texts), about 4 min left\n" in shown


@pytest.mark.parametrize(
    ("option", "variables"),
    [("--help", {"NO_COLOR": "1", "FORCE_COLOR": "1"}), ("--nothing", {"TERM": "dumb"})],
)
def test_no_colors_where_none_are_wanted(
    option: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = run_in_terminal(["train", option]).text
    assert "usage: taxoexpan train" in shown
    assert "\x1b" not in shown


@pytest.mark.slow
def test_a_training_on_a_terminal_uses_no_escape_sequences(
    pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    command = [
        "train",
        str(pantry),
        "-o",
        str(tmp_path / "m"),
        "--preset",
        "fast",
        "--features",
        "static",
    ]
    shown = run_in_terminal([*command, "--epochs", "3", "--device", "cpu"]).text
    assert "epoch   3" in shown
    assert "\x1b" not in shown
