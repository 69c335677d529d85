from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.github.workflow import without_commands, write_outputs
from tests.support.github_runner import read_outputs


def test_outputs_cannot_be_forged_by_their_values(tmp_path: Path) -> None:
    file = tmp_path / "output"
    outputs = {"patch": "a\nsarif=b\nEOF\nsarif<<EOF", "sarif": "c"}
    write_outputs({"GITHUB_OUTPUT": str(file)}, outputs)
    assert read_outputs(file.read_text()) == outputs


def test_github_finds_no_commands_in_the_text_of_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = set()
    for _ in range(2):
        with without_commands():
            print("::error::a label")
        first, _, last = capsys.readouterr().out.splitlines()
        token = first.removeprefix("::stop-commands::")
        assert last == f"::{token}::"
        tokens.add(token)
    assert len(tokens) == 2
    assert {len(token) for token in tokens} == {32}
