"""The guide to methods and data sets of one's own: every block and command runs as printed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from reproduction.__main__ import main as reproduction
from tests.support.command_line import run

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "own-methods.md"
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_printed(command: str) -> None:
    """Run a command in this process."""
    program, *arguments = shlex.split(command)
    if program == "taxoexpan":
        printed = run(*arguments)
        sys.stdout.write(printed.out)
        return
    assert (program, *arguments[:2]) == ("python", "-m", "reproduction")
    assert reproduction(arguments[2:]) == 0


@pytest.fixture
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder to work in, from which Python imports as after `python -m`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine").mkdir()


@pytest.mark.usefixtures("_own_folder")
def test_everything_on_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    text = PAGE.read_text(encoding="utf-8")
    kinds = []
    outputs = {}
    for kind, content in BLOCK.findall(text):
        kinds.append(kind.partition(" ")[0])
        if title := re.search(r'title="(.*)"', kind):
            Path(title[1]).write_text(content, encoding="utf-8")
        elif kind == "python":
            names: dict[str, Any] = {}
            exec(content, names)
            outputs[content] = capsys.readouterr().out
        else:
            assert not kind, kind
            for command in content.splitlines():
                run_printed(command)
                outputs[command] = capsys.readouterr().out
    assert kinds.count("python") == 5
    assert kinds.count("") >= 5
    (table,) = [out for command, out in outputs.items() if " reproduction table " in command]
    printed = [line for line in text.splitlines() if line.startswith("|")]
    assert printed == [line for line in table.splitlines() if line.startswith("|")]
    (in_python,) = [out for code, out in outputs.items() if "evaluate_methods" in code]
    assert [line.rsplit(" ", 2)[0] for line in in_python.splitlines()] == [
        "same ending",
        "shared words",
        "linear map",
        "closest parent",
        "whole model",
    ]
    assert sorted(path.name for path in Path("mine").glob("cases.*")) == ["cases.png", "cases.svg"]
