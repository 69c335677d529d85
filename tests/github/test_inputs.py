from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.github.inputs import Inputs
from taxoexpan.github.workflow import ActionError
from tests.support.expanded_files import write_file


def inputs(**changed: str) -> Inputs:
    given = {"TAXOEXPAN_COMMANDS": "check diff", "TAXOEXPAN_FILES": "*.csv"}
    given |= {f"TAXOEXPAN_{name.upper()}": value for name, value in changed.items()}
    return Inputs.read(given)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.csv", "a.csv", "-x.csv"):
        write_file(tmp_path / name, "child,parent\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_patterns_become_files_that_are_no_options() -> None:
    assert inputs().files == ("./-x.csv", "a.csv", "b.csv")
    assert inputs(files="b.csv\n\n a*.csv ").files == ("b.csv", "a.csv")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"files": "none/*.csv"}, "no file matches 'none/\\*.csv'"),
        ({"files": "\n"}, "the input files is empty"),
        ({"commands": "check delete"}, "unknown command 'delete'; choose from check, diff,"),
        ({"commands": " "}, "no command is given"),
    ],
)
def test_wrong_inputs_are_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ActionError, match=message):
        inputs(**changed)
