"""A resumed training ends like an uninterrupted one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.errors import ModelError
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.run import Checkpoint, State, tower_path
from tests.support.ctrl_c import press_ctrl_c
from tests.support.full_disk import no_file_larger_than
from tests.support.small_models import SMALL

QUICK = {**SMALL, "epochs": 6}


def weights_of(model: TaxoExpan) -> dict[str, torch.Tensor]:
    return model._fitted().network.state_dict()


def same(one: TaxoExpan, other: TaxoExpan) -> bool:
    ours, theirs = weights_of(one), weights_of(other)
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_resumed_training_equals_an_uninterrupted_one(pantry: Path, tmp_path: Path) -> None:
    taxonomy, checkpoint = read_taxonomy(pantry), tmp_path / "checkpoint"
    whole = TaxoExpan("fast", seed=3, device="cpu", **QUICK).fit(taxonomy)
    TaxoExpan("fast", seed=3, device="cpu", **{**QUICK, "epochs": 2}).fit(
        taxonomy, checkpoint=checkpoint
    )
    parts = TaxoExpan("fast", seed=3, device="cpu", **QUICK).fit(taxonomy, checkpoint=checkpoint)
    assert same(whole, parts)
    assert whole.history is not None
    assert parts.history is not None
    assert parts.history.epochs == whole.history.epochs


@pytest.mark.parametrize("change", [{"seed": 4}, {"hidden_dim": 9}, {"dropout": 0.25}])
def test_a_checkpoint_of_another_training_is_refused(
    pantry: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    taxonomy, checkpoint = read_taxonomy(pantry), tmp_path / "checkpoint"
    settings: dict[str, Any] = {"preset": "fast", "seed": 3, "device": "cpu", **QUICK, "epochs": 1}
    TaxoExpan(**settings).fit(taxonomy, checkpoint=checkpoint)
    with pytest.raises(ModelError, match="belongs to another training"):
        TaxoExpan(**{**settings, **change}).fit(taxonomy, checkpoint=checkpoint)


@pytest.mark.parametrize("content", [b"", b"nothing", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_damaged_checkpoint_is_refused(pantry: Path, tmp_path: Path, content: bytes) -> None:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(content)
    message = f"^{checkpoint}: not a readable checkpoint, or a damaged one.*; remove the file to "
    with pytest.raises(ModelError, match=message):
        TaxoExpan("fast", device="cpu", **QUICK).fit(read_taxonomy(pantry), checkpoint=checkpoint)


TENSORS = {"weight": torch.arange(100.0)}


def saved(path: Path, identity: str = "this training") -> Checkpoint:
    checkpoint = Checkpoint(path, identity)
    checkpoint.save(State(TENSORS, {"epoch": 1}))
    return checkpoint


def test_every_changed_bit_of_a_checkpoint_is_noticed(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path / "checkpoint")
    assert torch.equal(checkpoint.load().tensors["weight"], TENSORS["weight"])
    assert checkpoint.load().values == {"epoch": 1}
    whole = checkpoint.path.read_bytes()
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        checkpoint.path.write_bytes(changed)
        with pytest.raises(ModelError, match="not a readable checkpoint, or a damaged one"):
            checkpoint.load()


def test_the_checkpoint_of_the_network_cannot_stand_for_that_of_the_fine_tuning(
    tmp_path: Path,
) -> None:
    network = saved(tmp_path / "checkpoint")
    tower = network.of_tower()
    tower.check()
    tower.path.write_bytes(network.path.read_bytes())
    with pytest.raises(ModelError, match=r"checkpoint\.tower: the checkpoint belongs to another"):
        tower.check()


@pytest.mark.parametrize("content", ["damaged", "foreign"])
def test_an_unusable_checkpoint_of_the_fine_tuning_is_refused_before_the_network_is_trained(
    pantry: Path, tiny_transformer: Path, tmp_path: Path, content: str
) -> None:
    checkpoint = tmp_path / "checkpoint"
    left = tower_path(checkpoint)
    if content == "foreign":
        saved(left)
    else:
        left.write_bytes(b"nothing")
    settings = {**QUICK, "epochs": 1, "features": f"transformer:{tiny_transformer}"}
    with pytest.raises(ModelError, match=r"checkpoint\.tower: "):
        TaxoExpan("thorough", device="cpu", **settings).fit(
            read_taxonomy(pantry), checkpoint=checkpoint
        )
    assert not checkpoint.exists()
    untuned = TaxoExpan("fast", device="cpu", **settings)
    with pytest.raises(ModelError, match=r"checkpoint\.tower: .* fine-tunes no encoder; use"):
        untuned.fit(read_taxonomy(pantry), checkpoint=checkpoint)
    assert not checkpoint.exists()
    assert left.exists()


def test_a_log_has_one_line_per_epoch(pantry: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    model = TaxoExpan("fast", device="cpu", **QUICK).fit(read_taxonomy(pantry), log=log)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert model.history is not None
    assert [line["loss"] for line in lines] == [epoch.loss for epoch in model.history.epochs]
    assert [line["number"] for line in lines if line["better"]][-1] == model.history.best
    assert all(line["seconds"] > 0 for line in lines)


def test_a_full_disk_at_the_checkpoint_and_the_log_does_not_end_the_training(
    pantry: Path, tmp_path: Path
) -> None:
    taxonomy, log = read_taxonomy(pantry), tmp_path / "log.jsonl"
    whole = TaxoExpan("fast", seed=3, device="cpu", **QUICK).fit(taxonomy)
    disk_is_full = no_file_larger_than(400)  # one line of the log, and a part of the second
    with warnings.catch_warnings(record=True) as caught, disk_is_full:
        warnings.simplefilter("always")
        model = TaxoExpan("fast", seed=3, device="cpu", **QUICK).fit(
            taxonomy, checkpoint=tmp_path / "checkpoint", log=log
        )
    assert same(whole, model)
    messages = {str(warning.message) for warning in caught}
    assert {
        f"{tmp_path / 'checkpoint'}: cannot be written: File too large; the training goes on, but "
        "it cannot be resumed from this epoch",
        f"{log}: cannot be written: No space left on device; the training goes on, and its log is "
        "incomplete",
    } <= messages
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [1]
    assert list(tmp_path.iterdir()) == [log]


def test_a_log_that_cannot_be_written_is_refused_before_the_training(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "nowhere" / "log.jsonl"
    assert main(["train", str(pantry), "-o", str(tmp_path / "model"), "--log", str(log)]) == 2
    assert "does not exist; create it first" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_run_killed_during_an_epoch_and_resumed_ends_with_the_same_weights(
    pantry: Path, tmp_path: Path
) -> None:
    def command(out: Path, *more: str) -> list[str]:
        options = ["--epochs", "12", "--device", "cpu", "--quiet", *more]
        return [
            "train",
            str(pantry),
            "-o",
            str(out),
            "--preset",
            "fast",
            "--features",
            "static",
            *options,
        ]

    alone, killed = tmp_path / "alone", tmp_path / "killed"
    assert main(command(alone)) == 0
    program = [sys.executable, "-m", "taxoexpan.cli.main", *command(killed, "--log", "log.jsonl")]
    process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE)
    log, checkpoint = tmp_path / "log.jsonl", tmp_path / "killed.checkpoint"
    while not (log.exists() and log.read_text().count("\n") >= 3):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert checkpoint.exists()
    assert not killed.exists()
    assert main(command(killed)) == 2  # an unfinished training is not overwritten
    assert main(command(killed, "--resume")) == 0
    assert not checkpoint.exists()
    assert same(TaxoExpan.load(alone, "cpu"), TaxoExpan.load(killed, "cpu"))


def test_ctrl_c_saves_the_best_weights_and_the_training_is_resumed_without_force(
    pantry: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The checkpoint is the permission to replace the best model so far, which Ctrl-C saves."""
    monkeypatch.chdir(tmp_path)
    command = [
        "train",
        str(pantry),
        "-o",
        "m",
        "--preset",
        "fast",
        "--features",
        "static",
        "--device",
        "cpu",
    ]
    command += ["--set", "patience=2000"]
    with monkeypatch.context() as patched:
        patched.setattr(TrainingLog, "write", lambda *_: press_ctrl_c())
        assert main([*command, "--epochs", "2000"]) == 0
    messages = capsys.readouterr().err
    assert "stopped by Ctrl-C; the best weights so far are kept" in messages
    assert "--resume continues the training" in messages
    assert (tmp_path / "m.checkpoint").exists()
    assert interrupted(tmp_path / "m") is True
    assert main([*command, "--epochs", "3", "--quiet", "--resume"]) == 0
    assert not (tmp_path / "m.checkpoint").exists()
    assert interrupted(tmp_path / "m") is False


def interrupted(model: Path) -> bool:
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    return bool(config["training"]["interrupted"])
