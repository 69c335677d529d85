"""Continuing the training of a model from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main


def continue_training(
    capsys: pytest.CaptureFixture[str], taxonomy: Path, *options: str
) -> tuple[int, str]:
    status = main(["train", str(taxonomy), "--device", "cpu", *options])
    return status, capsys.readouterr().err


def test_a_model_learns_what_its_taxonomy_has_got_since(
    pantry: Path, model_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown, output = tmp_path / "grown.csv", tmp_path / "model-2"
    added = [f"{sort} {kind},{kind}" for sort in ("cashew", "white") for kind in ("milk", "tea")]
    grown.write_text(pantry.read_text(encoding="utf-8") + "\n".join(added), encoding="utf-8")
    options = ("--from", str(model_directory), "-o", str(output), "--json")
    assert main(["train", str(grown), "--device", "cpu", *options]) == 0
    captured = capsys.readouterr()
    assert f"continuing the training of {model_directory}" in captured.err
    record = json.loads(captured.out)
    assert record["concepts"] == len(Taxonomy.read(grown))
    old, new = (TaxoExpan.load(path, "cpu") for path in (model_directory, output))
    assert record["epochs"] < old.training.epochs
    assert new.config == old.config
    assert new.seed == old.seed
    assert {"cashew milk", "white tea"} <= {*new.taxonomy.labels}


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        (["--preset", "best"], "--preset"),
        (["--features", "static"], "--features"),
        (["--set", "hidden_dim=9"], "--set"),
        (["--epochs", "9"], "--epochs"),
        (["--resume"], "--resume"),
    ],
)
def test_settings_are_those_of_the_model(
    option: list[str],
    flag: str,
    pantry: Path,
    model_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start = ["--from", str(model_directory), "-o", str(tmp_path / "new")]
    status, message = continue_training(capsys, pantry, *start, *option)
    assert status == 2
    assert f"so {flag} has no effect; omit it, or train without --from" in message


def test_a_model_of_another_taxonomy_is_refused(
    model_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "cars.csv"
    other.write_text("child,parent\ncar,\nwheel,car\nengine,car\npiston,engine\n", encoding="utf-8")
    start = ["--from", str(model_directory), "-o", str(tmp_path / "new")]
    status, message = continue_training(capsys, other, *start)
    assert status != 0
    assert "the model was trained on another taxonomy" in message
    assert not (tmp_path / "new").exists()
