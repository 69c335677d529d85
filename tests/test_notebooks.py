from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run_notebook(path: Path) -> dict[str, object]:
    """Run all code cells of a notebook in the current folder, and return its variables."""
    variables: dict[str, object] = {"__name__": "__main__"}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), path.name, "exec"), variables)
    return variables


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*left out:UserWarning")
def test_the_notebook_expands_a_csv_file(tmp_path: Path) -> None:
    run_notebook(EXAMPLES / "expand.ipynb")
    old = (tmp_path / "foods.csv").read_bytes()
    larger = (tmp_path / "foods-v2.csv").read_bytes()
    assert larger.startswith(old)
    assert b"blood orange" in larger[len(old) :]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_notebook_compares_methods(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "instruments.ttl", tmp_path)
    means = run_notebook(EXAMPLES / "methods.ipynb")["means"]
    assert isinstance(means, pd.DataFrame)
    assert (tmp_path / "methods.csv").exists()
    assert means["Hit@1"]["taxoexpan, best"] > means["Hit@1"]["closest parent"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_has_outputs_and_names_no_place(path: Path) -> None:
    text = path.read_text("utf-8")
    assert '"output_type"' in text
    assert not re.search(r"/(tmp|home|root|work|Users)/", text)
