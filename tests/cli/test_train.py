"""Training a model, and continuing its training, from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from taxoexpan import Concept, Suggestion, TaxoExpan, read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.files import output_lock
from taxoexpan.training.run import Checkpoint, State, tower_path
from taxoexpan.training.tower import TowerRun
from tests.support.builders import own
from tests.support.command_line import run
from tests.support.ctrl_c import press_ctrl_c
from tests.support.expanded_files import write_file
from tests.support.forked_processes import fork_and_wait
from tests.support.small_models import SMALL


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
    pantry: Path, tmp_path: Path, options: list[str]
) -> None:
    model = tmp_path / "model"
    with pytest.MonkeyPatch.context() as patched:
        create_after_an_epoch(patched, model)
        messages = run(*quick(pantry, model), *options, status=2).err
    assert "model written to" not in messages
    assert f"--resume continues the training from {model}.checkpoint" in messages
    assert [each.name for each in model.iterdir()] == ["theirs"]
    model.rename(tmp_path / "theirs")
    run(*quick(pantry, model), "--resume")
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
    pantry: Path,
) -> None:
    messages = run(*quick(pantry, Path("/proc/model")), status=2).err.splitlines()
    assert len(messages) == 1
    assert messages[0].startswith("taxoexpan: /proc/model: ")
    assert "choose another folder" in messages[0]


def test_a_fine_tuned_model_is_trained_and_used(
    pantry: Path, tmp_path: Path, options: list[str]
) -> None:
    model, new = tmp_path / "model", tmp_path / "new.csv"
    new.write_text("label\ncashew milk\n", encoding="utf-8")
    assert run("train", pantry, "-o", model, *options).err.count("Ctrl-C") == 0
    assert (model / "tower.safetensors").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("model.")] == []
    printed = run("suggest", model, new, "--json", "--top-k", "2").out
    suggestions = json.loads(printed)["suggestions"]
    assert [each["query"] for each in suggestions] == ["cashew milk"] * 2


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupted_fine_tuning_is_resumed_with_the_same_result(
    pantry: Path, tmp_path: Path, options: list[str], times: int
) -> None:
    alone, model = tmp_path / "alone", tmp_path / "model"
    checkpoint = tmp_path / "model.checkpoint"
    run("train", pantry, "-o", alone, *options)
    command = ["train", pantry, "-o", model, *options]
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, tower_path(checkpoint), times)
        messages = run(*command).err
    assert "fine-tuning stopped by Ctrl-C; " in messages
    assert f"--resume continues the training from {tower_path(checkpoint)}" in messages
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    assert config["training"]["interrupted"] is True
    assert checkpoint.is_file()
    assert tower_path(checkpoint).is_file()
    run(*command, status=2)
    assert "Ctrl-C" not in run(*command, "--resume").err
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
    pantry: Path, tmp_path: Path, options: list[str]
) -> None:
    """Without held-out leaves, the last finished epoch is the best."""
    model = tmp_path / "model"
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, tower_path(tmp_path / "model.checkpoint"))
        messages = run("train", pantry, "-o", model, *options, "--set", "validation_fraction=0").err
    assert "fine-tuning stopped by Ctrl-C; the best state so far is kept (epoch 1)" in messages


def test_a_fine_tuning_without_a_finished_epoch_is_none(
    pantry: Path, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, begin = tmp_path / "model", TowerRun.train_epoch
    monkeypatch.setattr(TowerRun, "train_epoch", lambda *given: press_ctrl_c() or begin(*given))
    assert "fine-tuning stopped by Ctrl-C" in run("train", pantry, "-o", model, *options).err
    printed = run("info", model).out
    line = "adapted encoder       no; the fine-tuning was stopped before the end of its first epoch"
    assert line in printed.splitlines()
    assert "fine-tuned" not in (model / "README.md").read_text(encoding="utf-8")


def test_ctrl_c_during_the_network_leaves_the_fine_tuning_to_resume(
    pantry: Path, tmp_path: Path, options: list[str]
) -> None:
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    command = ["train", pantry, "-o", model, *options]
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, checkpoint)
        messages = run(*command).err
    kept = "stopped by Ctrl-C; the best weights so far are kept (epoch 1)"
    assert f"{kept}, and the encoder was not fine-tuned\n" in messages
    assert "fine-tuning stopped" not in messages
    assert f"--resume continues the training from {checkpoint}\n" in messages
    assert not (model / "tower.safetensors").exists()
    run(*command, "--resume")
    assert (model / "tower.safetensors").is_file()
    assert not checkpoint.exists()


def test_ctrl_c_says_nothing_of_a_fine_tuning_that_would_not_have_followed(
    pantry: Path, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        interrupt_after(patched, tmp_path / "model.checkpoint")
        messages = run(*quick(pantry, tmp_path / "model")).err.splitlines()
    assert "stopped by Ctrl-C; the best weights so far are kept (epoch 1)" in messages


def test_a_checkpoint_of_the_fine_tuning_is_not_discarded_without_force(
    pantry: Path, tmp_path: Path, options: list[str]
) -> None:
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    left = tower_path(checkpoint)
    left.write_bytes(b"of some training")
    command = ["train", pantry, "-o", model, *options]
    messages = run(*command, status=2).err
    fix = (
        "holds an interrupted training; --resume continues it, --force deletes it and starts again"
    )
    assert f"{left}: {fix}" in messages
    assert left.read_bytes() == b"of some training"
    assert f"{left}: not a readable checkpoint" in run(*command, "--resume", status=2).err
    assert not model.exists()
    assert not checkpoint.exists()  # refused before the network was trained
    run(*command, "--force")
    assert not left.exists()


@pytest.mark.parametrize("content", ["a checkpoint", "something else"])
def test_a_checkpoint_that_the_training_does_not_use_is_refused_and_kept(
    pantry: Path, tmp_path: Path, content: str
) -> None:
    """Without a fine-tuning, nothing would read the file before the end, which removes it."""
    model, left = tmp_path / "model", tmp_path / "model.checkpoint.tower"
    if content == "a checkpoint":
        Checkpoint(left, "another training").save(State({"weight": torch.zeros(2)}, {"epoch": 1}))
    else:
        left.write_text(content, encoding="utf-8")
    before = left.read_bytes()
    settings = (part for name in SMALL for part in ("--set", f"{name}={SMALL[name]}"))
    command = ["train", pantry, "-o", model, "--preset", "fast", *settings]
    messages = run(*command, "--device", "cpu", "--quiet", "--resume", status=2).err
    message = f"{left}: the checkpoint belongs to another training, because this one fine-tunes no"
    assert message in messages
    assert left.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [left.name]


def continue_training(taxonomy: Path, *options: object, status: int = 0) -> str:
    """Return the messages of a training."""
    return run("train", taxonomy, "--device", "cpu", *options, status=status).err


def test_a_model_learns_what_its_taxonomy_has_got_since(
    pantry: Path, model_directory: Path, tmp_path: Path
) -> None:
    grown, output = tmp_path / "grown.csv", tmp_path / "model-2"
    added = [f"{sort} {kind},{kind}" for sort in ("cashew", "white") for kind in ("milk", "tea")]
    grown.write_text(pantry.read_text(encoding="utf-8") + "\n".join(added), encoding="utf-8")
    options = ("--from", model_directory, "-o", output, "--json")
    captured = run("train", grown, "--device", "cpu", *options)
    assert f"continuing the training of {model_directory}" in captured.err
    record = json.loads(captured.out)
    assert record["concepts"] == len(read_taxonomy(grown))
    old, new = (TaxoExpan.load(path, "cpu") for path in (model_directory, output))
    assert record["epochs"] < old.training.epochs
    assert new.config == old.config
    assert new.seed == old.seed
    assert {"cashew milk", "white tea"} <= {*new.taxonomy.labels}


def test_a_continued_training_without_a_confidence_advises_a_new_one(
    pantry: Path, tmp_path: Path
) -> None:
    model, options = tmp_path / "model", ["--preset", "fast", "--features", "static"]
    options += ["--set", "learn_fusion=false", "--epochs", "2"]
    first = run("train", pantry, "-o", model, *options, "--device", "cpu").err
    (count,) = re.findall(r"(\d+) leaves to validate on", first)
    assert f"from {count} held-out leaves; it takes 30, so train with the setting " in first
    grown = tmp_path / "grown.csv"
    added = "".join(f"thing {number},milk\n" for number in range(8))
    grown.write_text(pantry.read_text(encoding="utf-8").rstrip() + f"\n{added}", encoding="utf-8")
    second = continue_training(grown, "--from", model, "-o", tmp_path / "model-2")
    assert (
        f"from {count} held-out leaves and the added concepts; it takes 30. A continued" in second
    )
    assert "so train a new model with the setting validation_fraction=" in second
    assert f"{count} leaves to validate on" in second


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        (["--preset", "paper"], "--preset"),
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
) -> None:
    start = ["--from", model_directory, "-o", tmp_path / "new"]
    message = continue_training(pantry, *start, *option, status=2)
    assert f"(option {flag})" in message


def test_a_model_of_another_taxonomy_is_refused(model_directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "cars.csv"
    other.write_text("child,parent\ncar,\nwheel,car\nengine,car\npiston,engine\n", encoding="utf-8")
    start = ["--from", model_directory, "-o", tmp_path / "new"]
    message = continue_training(other, *start, status=2)
    assert "the model was trained on another taxonomy" in message
    assert not (tmp_path / "new").exists()


@pytest.fixture
def reviews(model: TaxoExpan, tmp_path: Path) -> Path:
    """A store in which one proposal was accepted, one corrected, and one rejected."""
    pytest.importorskip("sqlalchemy")
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.desk.store.decisions import Action, LogEntry, Reason

    path, new = tmp_path / "reviews.db", ["cashew milk", "white tea", "tomato soup"]
    right = Suggestion(Concept("", ""), 1, Concept("milk", "milk"))
    corrected, wrong = own("", "sauce", "sauce"), Reason.WRONG_PARENTS
    with DecisionStore.open(str(path)) as store:
        store.add_concepts([Concept("", label) for label in new])
        store.set_proposals("model", model.suggest(new, top_k=2).flat)
        accepts = [("cashew milk", right), ("white tea", corrected)]
        decisions = [LogEntry(key, Action.ACCEPT, 0, (each,)) for key, each in accepts]
        decisions.append(LogEntry("tomato soup", Action.REJECT, 0, (), wrong))
        store.append(decisions, "ada")
    return path


def test_a_model_learns_from_a_store(
    reviews: Path,
    pantry: Path,
    model_directory: Path,
    tmp_path: Path,
) -> None:
    start = ["--decisions", reviews, "--from", model_directory]
    outputs = [tmp_path / "one", tmp_path / "two"]
    for output in outputs:
        message = continue_training(pantry, *start, "-o", output)
        assert "learned from 2 accepted concepts, 0 merges and 4 rejected placements" in message
    old, new, same = (TaxoExpan.load(path, "cpu") for path in (model_directory, *outputs))
    for label, parent in (("cashew milk", "milk"), ("white tea", "sauce")):
        (id,) = (id for id in new.taxonomy if new.taxonomy.concept(id).label == label)
        assert new.taxonomy.parents(id) == (parent,)
    rejected = {s.parent.id for s in old.suggest(["tomato soup"], top_k=2).flat}
    suggested = new.suggest(["tomato soup"], top_k=50).flat
    assert not rejected & {s.parent.id for s in suggested}
    assert suggested == same.suggest(["tomato soup"], top_k=50).flat


def test_decisions_that_the_taxonomy_cannot_take_are_counted(
    reviews: Path,
    pantry: Path,
    model_directory: Path,
    tmp_path: Path,
) -> None:
    """By now, the file has cashew milk, and sauces have been removed."""
    lines = [
        line for line in pantry.read_text(encoding="utf-8").splitlines() if "sauce" not in line
    ]
    changed = write_file(tmp_path / "changed.csv", "\n".join([*lines, "cashew milk,milk"]))
    start = ["--decisions", reviews, "--from", model_directory]
    message = continue_training(changed, *start, "-o", tmp_path / "new")
    assert "note: 1 accepted concept is in the taxonomy by now" in message
    assert "warning: 1 decision is left out: the parent is not in the taxonomy" in message


def test_decisions_need_a_model(reviews: Path, pantry: Path, tmp_path: Path) -> None:
    options = ["--decisions", reviews, "-o", tmp_path / "new"]
    message = continue_training(pantry, *options, status=2)
    assert "give the model with --from" in message


def test_a_store_without_decisions_is_refused(
    pantry: Path, model_directory: Path, tmp_path: Path
) -> None:
    pytest.importorskip("sqlalchemy")
    from taxoexpan.desk.store.decision_store import DecisionStore

    path, start = tmp_path / "reviews.db", ["--from", model_directory]
    options = [*start, "--decisions", path, "-o", tmp_path / "new"]
    message = continue_training(pantry, *options, status=2)
    assert "reviews.db" in message
    assert not path.exists()
    with DecisionStore.open(str(path)) as store:
        store.add_concepts([Concept("", "cashew milk")])
    message = continue_training(pantry, *options, status=2)
    assert "has no accepted or rejected placements to learn from" in message
