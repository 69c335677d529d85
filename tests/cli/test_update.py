"""Updating a model to a newer version of its taxonomy from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.cli.main import main
from tests.support.command_line import Printed, run
from tests.support.expanded_files import write_file
from tests.support.unprivileged import give_away, open_folder, run_unprivileged


@pytest.fixture
def directory(model_directory: Path, tmp_path: Path) -> Path:
    """A copy of the model, which a test may replace."""
    return Path(shutil.copytree(model_directory, tmp_path / "model"))


def newer(pantry: Path, tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "newer.csv"
    text = pantry.read_text(encoding="utf-8") + "\n".join(lines) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def update(*arguments: object, status: int = 0) -> Printed:
    return run("update", *arguments, "--device", "cpu", status=status)


def test_a_model_is_replaced_by_its_newer_version(
    directory: Path, pantry: Path, tmp_path: Path
) -> None:
    taxonomy = newer(pantry, tmp_path, "nut milk,milk", "cashew milk,nut milk")
    messages = update(directory, taxonomy).err
    assert "2 concepts added, 0 removed, 0 changed; 2 relations added, 0 removed\n" in messages
    assert "encoded 2 concepts, 3 anchors, of a taxonomy of 91 concepts\n" in messages
    assert "since the training: 2 concepts added (2.2" in messages
    assert "train --from" not in messages
    model = TaxoExpan.load(directory, "cpu")
    assert model.growth.added == {"nut milk", "cashew milk"}
    assert model.training.concepts == 89
    assert "Since the training: 2 concepts added" in (directory / "README.md").read_text("utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "newer.csv"]


def test_updates_add_up_until_training_is_advised(
    directory: Path, pantry: Path, tmp_path: Path
) -> None:
    lines = [f"{word} milk,milk" for word in ("nut", "pea", "cashew", "rice", "barley")]
    for count in (2, 5):
        printed = update(directory, newer(pantry, tmp_path, *lines[:count]), "--json").out
        since = json.loads(printed)["since_training"]
        assert since["concepts_added"] == count
        assert since["training_advised"] == (count == 5)
    (tmp_path / "new.txt").write_text("hazelnut milk\n", encoding="utf-8")
    messages = run("suggest", directory, tmp_path / "new.txt", "--device", "cpu").err
    advice = "note: updates have added 5 concepts (6 %) since the training; train --from MODEL"
    assert advice in messages
    printed = run("info", directory).out
    assert "since the training    5 concepts added (5.6" in printed
    assert "train --from would rank better\n" in printed


def test_another_directory_is_written_and_the_old_one_stays(
    directory: Path, pantry: Path, tmp_path: Path
) -> None:
    old = (directory / "config.json").read_bytes()
    taxonomy, output = newer(pantry, tmp_path, "nut milk,milk"), tmp_path / "model-2"
    update(directory, taxonomy, "-o", output)
    assert (directory / "config.json").read_bytes() == old
    assert "nut milk" in TaxoExpan.load(output, "cpu").taxonomy
    messages = update(directory, taxonomy, "-o", output, status=2).err
    assert "model-2: already exists" in messages
    update(directory, taxonomy, "-o", output, "--force")


def test_a_name_that_is_taken_during_the_update_stays(
    directory: Path, pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, change = tmp_path / "new", TaxoExpan.update
    monkeypatch.setattr(TaxoExpan, "update", lambda *given: output.mkdir() or change(*given))
    taxonomy = newer(pantry, tmp_path, "nut milk,milk")
    assert f"{output}: already exists" in update(directory, taxonomy, "-o", output, status=2).err
    assert list(output.iterdir()) == []


def test_an_equal_version_writes_nothing(directory: Path, pantry: Path) -> None:
    before = (directory / "config.json").stat().st_mtime_ns
    assert "nothing has changed" in update(directory, pantry).err
    assert (directory / "config.json").stat().st_mtime_ns == before


def test_another_taxonomy_is_refused_and_the_model_stays(directory: Path, tmp_path: Path) -> None:
    other = write_file(tmp_path / "other.csv", "child,parent\ncar,\nbus,car\ntram,car\n")
    before = sorted((path.name, path.stat().st_mtime_ns) for path in directory.iterdir())
    assert "0 of its 89 ids" in update(directory, other, status=2).err
    assert sorted((path.name, path.stat().st_mtime_ns) for path in directory.iterdir()) == before


def test_a_missing_model_is_named(pantry: Path, tmp_path: Path) -> None:
    assert "no such model directory" in update(tmp_path / "nothing", pantry, status=2).err


def test_a_read_only_model_is_not_replaced(
    model_directory: Path, pantry: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with open_folder() as folder:
        model = Path(shutil.copytree(model_directory, folder / "model"))
        taxonomy = newer(pantry, folder, "nut milk,milk")
        give_away(model)
        model.chmod(0o555)
        command = ["update", str(model), str(taxonomy), "--device", "cpu"]
        assert run_unprivileged(lambda: main(command)) == 2
        message = capfd.readouterr().err
        assert message.startswith(f"taxoexpan: {model}: is read-only")
        assert run_unprivileged(lambda: main([*command, "-o", str(folder / "new")])) == 0
        assert sorted(path.name for path in folder.iterdir()) == ["model", "new", "newer.csv"]
