from __future__ import annotations

import os
import pty
import re
import sys
import termios
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.progress import Progress, Stage, Stages, write_line
from tests.support.pseudo_terminal import run_in_terminal
from tests.support.small_models import SMALL


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
    write_line("epoch 1")  # tqdm would print it on standard output
    monkeypatch.undo()
    assert capsys.readouterr() == ("", "")


def work(clock: Clock, stage: str, total: int | None, steps: int, seconds: float) -> None:
    """Do a stage of a training, with an encoder that counts texts and a part that does not."""
    with Progress(stage, total, "texts", shown=False, collects=True):
        for _ in range(steps):
            clock.now += seconds
            with Progress("encoding", 1, "texts", shown=True, clock=clock) as bar:
                bar.remark("loss 3.1")
                bar.update()
            Progress("reading", 9, "bytes", shown=True, clock=clock).update(9)


STAGES = {"vectors": Stage(20, 10), "network": Stage(60), "calibration": Stage(20)}


def test_all_stages_have_one_display_with_the_time_left_of_the_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with Stages("training", STAGES, shown=True, clock=clock):
        work(clock, "vectors", None, 10, 4)  # each text takes twice as long as estimated
        work(clock, "network", 60, 60, 2)
        work(clock, "calibration", None, 1, 40)
    assert capsys.readouterr().err.splitlines() == [
        "training: 4 %, vectors, about 2 min left, loss 3.1",
        "training: 20 %, vectors, about 3 min left, loss 3.1",
        "training: 35 %, network, about 2 min left, loss 3.1",
        "training: 50 %, network, about 2 min left, loss 3.1",
        "training: 65 %, network, about 70 s left, loss 3.1",
        "training: 80 %, calibration, about 40 s left, loss 3.1",
    ]


def test_the_first_estimate_and_units_that_were_not_needed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with Stages("training", STAGES, shown=True, clock=clock) as stages:
        work(clock, "vectors", None, 0, 0)  # all vectors are cached
        with Progress("network", 60, "batches", shown=True, done=30) as bar:  # resumed
            assert stages.done == 50
            clock.now += 6
            bar.update(0)
            bar.update(1000)  # more than was expected
            assert stages.done == 80
    assert capsys.readouterr().err == "training: 50 %, network, about 50 s left\n"


def test_other_displays_before_the_stages_and_in_other_threads_are_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()

    def learn() -> None:
        with Progress("learning words", 10, "texts", shown=True, clock=clock) as bar:
            bar.update()
            clock.now += 6
            bar.update()

    with Stages("training", STAGES, shown=True, clock=clock) as stages:
        learn()
        assert capsys.readouterr().err.startswith("learning words: 20 %")
        with Progress("vectors", None, "texts", shown=False, collects=True):
            thread = Thread(target=learn)
            thread.start()
            thread.join()
            assert stages.done == 0
    assert capsys.readouterr().err.startswith("learning words: 20 %")
    learn()
    assert capsys.readouterr().err.startswith("learning words: 20 %")


def test_hidden_stages_show_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Stages("training", STAGES, shown=False, clock=clock):
        for name in STAGES:
            with Progress(name, 2, "texts", shown=False, collects=True, clock=clock) as bar:
                clock.now += 100
                bar.update()
    assert capsys.readouterr().err == ""


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("tower_epochs", [0, 1])
def test_a_training_has_one_bar_that_only_rises(
    tower_epochs: int, pantry: Path, tiny_transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    settings = SMALL | {"features": f"transformer:{tiny_transformer}", "epochs": 2}
    model = TaxoExpan("best", device="cpu", tower_epochs=tower_epochs, **settings)
    taxonomy = read_taxonomy(pantry)
    model.fit(taxonomy, progress=True)
    shown = re.findall(r"([\w -]+): *([a-z-]*) +(\d+) ?%", screen.getvalue())
    stages = list(dict.fromkeys(stage for _, stage, _ in shown))
    tuning = ["fine-tuning"] * tower_epochs
    assert stages == ["vectors", "network", *tuning, "tower", "maps", "calibration"]
    assert {description for description, _, _ in shown} == {"training"}
    percents = [int(percent) for _, _, percent in shown]
    assert percents == sorted(percents)
    assert percents[0] == 0
    assert "\repoch   2  loss" in screen.getvalue()
    screen.truncate(0)
    model.fit(taxonomy, progress=False)
    assert screen.getvalue() == ""


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
