"""Training with a fine-tuned encoder, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from conftest import SMALL
from ctrl_c import press_ctrl_c
from forked_processes import fork_and_wait
from safetensors.torch import load_file

from taxoexpan import TaxoExpan
from taxoexpan.cli.main import main
from taxoexpan.files import output_lock
from taxoexpan.training.checkpoint import Checkpoint, State, tower_path
from taxoexpan.training.tower import TowerRun


@pytest.fixture
def options(tiny_transformer: Path) -> list[str]:
    settings = SMALL | {
        "epochs": 2,
        "features": f"transformer:{tiny_transformer}",
        "tower_epochs": 2,
        "tower_batch_size": 32,
        "tower_learning_rate": 0.003,
    }
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    return [*changes, "--device", "cpu", "--quiet"]


def interrupt_after(monkeypatch: pytest.MonkeyPatch, saved: Path, times: int = 1) -> None:
    """Press Ctrl-C when a checkpoint has been written to this file so many times."""
    save, left = Checkpoint.save, times

    def save_and_interrupt(self: Checkpoint, state: State) -> None:
        nonlocal left
        save(self, state)
        left -= self.path == saved
        if self.path == saved and not left:
            press_ctrl_c()

    monkeypatch.setattr(Checkpoint, "save", save_and_interrupt)


def quick(pantry: Path, output: Path) -> list[str]:
    """Return the command of a training without a fine-tuning."""
    settings = SMALL | {"epochs": 2}
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    command = ["train", str(pantry), "-o", str(output), "--preset", "fast", *changes]
    return [*command, "--device", "cpu", "--quiet"]


def create_after_an_epoch(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Create a folder with a file when a checkpoint is written, as another program does."""
    save = Checkpoint.save

    def save_and_create(self: Checkpoint, state: State) -> None:
        save(self, state)
        folder.mkdir(exist_ok=True)
        (folder / "theirs").touch()

    monkeypatch.setattr(Checkpoint, "save", save_and_create)


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_a_training_whose_name_was_taken_can_be_resumed(
    pantry: Path,
    tmp_path: Path,
    options: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = tmp_path / "model"
    with pytest.MonkeyPatch.context() as patched:
        create_after_an_epoch(patched, model)
        assert main([*quick(pantry, model), *options]) == 2
    messages = capsys.readouterr().err
    assert "model written to" not in messages
    assert f"--resume continues the training from {model}.checkpoint" in messages
    assert [each.name for each in model.iterdir()] == ["theirs"]
    model.rename(tmp_path / "theirs")
    assert main([*quick(pantry, model), "--resume"]) == 0
    assert TaxoExpan.load(model).taxonomy
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model", "theirs"]


@pytest.mark.parametrize("options", [[], ["--force"], ["--resume"]])
def test_a_second_training_with_the_same_output_is_refused(
    pantry: Path, tmp_path: Path, options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    checkpoint.write_bytes(b"of the training that is running")
    with output_lock(model):
        assert fork_and_wait(lambda: main([*quick(pantry, model), *options])) == 2
    assert f"{model}: another process works on this output" in capfd.readouterr().err
    assert checkpoint.read_bytes() == b"of the training that is running"
    assert [each.name for each in tmp_path.iterdir()] == [checkpoint.name]


def test_a_folder_in_which_nothing_can_be_created_is_refused_before_the_training(
    pantry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(quick(pantry, Path("/proc/model"))) == 2
    messages = capsys.readouterr().err.splitlines()
    assert len(messages) == 1
    assert messages[0].startswith("taxoexpan: /proc/model: ")
    assert "choose another folder" in messages[0]


def test_a_fine_tuned_model_is_trained_and_used(
    pantry: Path, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model, new = tmp_path / "model", tmp_path / "new.csv"
    new.write_text("label\ncashew milk\n", encoding="utf-8")
    assert main(["train", str(pantry), "-o", str(model), *options]) == 0
    assert capsys.readouterr().err.count("Ctrl-C") == 0
    assert (model / "tower.safetensors").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("model.")] == []
    assert main(["suggest", str(model), str(new), "--json", "--top-k", "2"]) == 0
    suggestions = json.loads(capsys.readouterr().out)["suggestions"]
    assert [each["query"] for each in suggestions] == ["cashew milk"] * 2


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupted_fine_tuning_is_resumed_with_the_same_result(
    pantry: Path,
    tmp_path: Path,
    options: list[str],
    capsys: pytest.CaptureFixture[str],
    times: int,
) -> None:
    alone, model = tmp_path / "alone", tmp_path / "model"
    checkpoint = tmp_path / "model.checkpoint"
    assert main(["train", str(pantry), "-o", str(alone), *options]) == 0
    capsys.readouterr()
    command = ["train", str(pantry), "-o", str(model), *options]
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, tower_path(checkpoint), times)
        assert main(command) == 0
    messages = capsys.readouterr().err
    assert "fine-tuning stopped by Ctrl-C; " in messages
    assert f"--resume continues the training from {tower_path(checkpoint)}" in messages
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    assert config["training"]["interrupted"] is True
    assert checkpoint.is_file()
    assert tower_path(checkpoint).is_file()
    assert main(command) == 2  # neither the model nor its training is discarded
    capsys.readouterr()
    assert main([*command, "--resume"]) == 0
    assert "Ctrl-C" not in capsys.readouterr().err
    assert not checkpoint.exists()
    assert not tower_path(checkpoint).exists()
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    assert config["training"]["interrupted"] is False
    for part in ("weights", "tower", "anchors"):
        one, other = (load_file(path / f"{part}.safetensors") for path in (alone, model))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert (alone / "calibration.json").read_bytes() == (model / "calibration.json").read_bytes()


def test_the_message_names_the_epoch_that_is_kept(
    pantry: Path, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without held-out leaves, the last finished epoch is the best."""
    model = tmp_path / "model"
    unvalidated = ["--set", "validation_fraction=0"]
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, tower_path(tmp_path / "model.checkpoint"))
        assert main(["train", str(pantry), "-o", str(model), *options, *unvalidated]) == 0
    kept = "fine-tuning stopped by Ctrl-C; the best state so far is kept (epoch 1)"
    assert kept in capsys.readouterr().err


def test_a_fine_tuning_without_a_finished_epoch_is_none(
    pantry: Path,
    tmp_path: Path,
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, begin = tmp_path / "model", TowerRun.train_epoch
    monkeypatch.setattr(TowerRun, "train_epoch", lambda *given: press_ctrl_c() or begin(*given))
    assert main(["train", str(pantry), "-o", str(model), *options]) == 0
    assert "fine-tuning stopped by Ctrl-C" in capsys.readouterr().err
    assert main(["info", str(model)]) == 0
    line = "fine-tuned encoder    no; the fine-tuning was stopped before the end of its first epoch"
    assert line in capsys.readouterr().out.splitlines()
    assert "fine-tuned" not in (model / "README.md").read_text(encoding="utf-8")


def test_ctrl_c_during_the_network_leaves_the_fine_tuning_to_resume(
    pantry: Path, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    command = ["train", str(pantry), "-o", str(model), *options]
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, checkpoint)
        assert main(command) == 0
    messages = capsys.readouterr().err
    kept = "stopped by Ctrl-C; the best weights so far are kept (epoch 1)"
    assert f"{kept}, and the encoder was not fine-tuned\n" in messages
    assert "fine-tuning stopped" not in messages
    assert f"--resume continues the training from {checkpoint}\n" in messages
    assert not (model / "tower.safetensors").exists()
    assert main([*command, "--resume"]) == 0
    assert (model / "tower.safetensors").is_file()
    assert not checkpoint.exists()


def test_ctrl_c_says_nothing_of_a_fine_tuning_that_would_not_have_followed(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, tmp_path / "model.checkpoint")
        assert main(quick(pantry, tmp_path / "model")) == 0
    messages = capsys.readouterr().err.splitlines()
    assert "stopped by Ctrl-C; the best weights so far are kept (epoch 1)" in messages


def test_a_checkpoint_of_the_fine_tuning_is_not_discarded_without_force(
    pantry: Path, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    left = tower_path(checkpoint)
    left.write_bytes(b"of some training")
    command = ["train", str(pantry), "-o", str(model), *options]
    assert main(command) == 2
    fix = (
        "holds an interrupted training; --resume continues it, --force deletes it and starts again"
    )
    assert f"{left}: {fix}" in capsys.readouterr().err
    assert left.read_bytes() == b"of some training"
    assert main([*command, "--resume"]) == 2
    assert f"{left}: not a readable checkpoint" in capsys.readouterr().err
    assert not model.exists()
    assert not checkpoint.exists()  # refused before the network was trained
    assert main([*command, "--force"]) == 0
    assert not left.exists()


@pytest.mark.parametrize("content", ["a checkpoint", "something else"])
def test_a_checkpoint_that_the_training_does_not_use_is_refused_and_kept(
    pantry: Path, tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a fine-tuning, nothing would read the file before the end, which removes it."""
    model, left = tmp_path / "model", tmp_path / "model.checkpoint.tower"
    if content == "a checkpoint":
        Checkpoint(left, "another training").save(State({"weight": torch.zeros(2)}, {"epoch": 1}))
    else:
        left.write_text(content, encoding="utf-8")
    before = left.read_bytes()
    settings = (part for name in SMALL for part in ("--set", f"{name}={SMALL[name]}"))
    command = ["train", str(pantry), "-o", str(model), "--preset", "fast", *settings]
    assert main([*command, "--device", "cpu", "--quiet", "--resume"]) == 2
    message = f"{left}: the checkpoint belongs to another training, because this one fine-tunes no"
    assert message in capsys.readouterr().err
    assert left.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [left.name]
