"""Tests of `taxoexpan completion`, in the shells themselves where they are installed."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest

from taxoexpan.cli.completion import SHELLS
from taxoexpan.config import PRESETS
from tests.support.command_line import run
from tests.support.expanded_files import write_file

BASH = """
source {script}
complete_words() {{
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _shtab_taxoexpan
    printf '%s\\n' "${{COMPREPLY[@]}}"
}}
complete_words {words}
"""


@cache
def generate(shell: str) -> str:
    """The script of a shell, which must be installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    return run("completion", shell).out


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The script of the shell that is the fixture's parameter, next to a file to complete."""
    path = write_file(tmp_path / f"completion.{request.param}", generate(request.param))
    (tmp_path / "topics.ttl").touch()
    return path


@pytest.mark.parametrize("script", SHELLS, indirect=True)
def test_the_shell_can_parse_the_script(script: Path) -> None:
    shell = script.suffix[1:]
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


CASES = [
    (["tr"], ["train"]),
    (["train", "--pre"], ["--preset"]),
    (["train", "--preset", ""], list(PRESETS)),
    (["train", "top"], ["topics.ttl"]),
    (["train", "topics.ttl", "--format", "sk"], ["skos"]),
    (["completion", "ba"], ["bash"]),
    (["nothing", "--pre"], []),
]


@pytest.mark.parametrize(("words", "wanted"), CASES)
@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes(script: Path, words: list[str], wanted: list[str]) -> None:
    quoted = " ".join(f"'{word}'" for word in ["taxoexpan", *words])
    program = BASH.format(script=script, words=quoted)
    assert _output(["bash", "--norc", "-c", program], script) == wanted


@pytest.mark.parametrize(("words", "wanted"), CASES[:-1])
@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes(script: Path, words: list[str], wanted: list[str]) -> None:
    line = " ".join(["taxoexpan", *words])
    lines = _output(["fish", "-N", "-c", f"source {script}; complete -C '{line}'"], script)
    assert sorted(line.partition("\t")[0] for line in lines) == sorted(wanted)


def _output(command: list[str], script: Path) -> list[str]:
    """Return the lines that a shell prints in the folder of the script."""
    home = {**os.environ, "HOME": str(script.parent), "XDG_CONFIG_HOME": str(script.parent)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=script.parent, env=home
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.mark.parametrize(("typed", "wanted"), [("tr", "train"), ("train --pres", "--preset")])
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes(script: Path, typed: str, wanted: str) -> None:
    """The completion of zsh works only in a terminal."""
    terminal, inner = pty.openpty()
    home = {**os.environ, "HOME": str(script.parent), "TERM": "dumb", "PS1": "> "}
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=inner, stdout=inner, stderr=inner, env=home, cwd=script.parent
    )
    os.close(inner)
    try:
        os.write(terminal, b"autoload -U compinit; compinit -u -D\n")
        os.write(terminal, f'eval "$(cat {script})"; echo is""ready\n'.encode())
        assert _read_until(terminal, "isready")
        os.write(terminal, f"taxoexpan {typed}\t".encode())
        assert _read_until(terminal, wanted)
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)


def _read_until(terminal: int, text: str) -> bool:
    """Return whether a terminal shows a text within 20 seconds."""
    shown, end = b"", time.monotonic() + 20
    while text not in shown.decode("utf-8", "replace"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            return False
        shown += os.read(terminal, 4096)
    return True


def test_an_unknown_shell_is_refused() -> None:
    assert "invalid choice: 'cmd'" in run("completion", "cmd", status=2).err
