"""Training in several processes that torchrun starts, compared with training in one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from conftest import SMALL
from safetensors.torch import load_file

from taxoexpan.cli.main import main
from taxoexpan.files import output_lock
from taxoexpan.taxonomy import Taxonomy

SETTINGS = SMALL | {"epochs": 3, "tower_epochs": 2, "tower_learning_rate": 0.001}


@pytest.fixture
def options(tiny_transformer: Path) -> list[str]:
    settings = SETTINGS | {"features": f"static+transformer:{tiny_transformer}"}
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    return [*changes, "--device", "cpu", "--seed", "1"]


def torchrun(processes: int, *arguments: str | Path) -> list[str]:
    """Return the command of a training in so many processes.

    Without the two hyphens, torchrun would take `--log` for an option of its own.
    """
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return [sys.executable, *start, "-m", "--", "taxoexpan", "train", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=300
    )


def without_noise(name: str, weights: torch.Tensor) -> torch.Tensor:
    """Leave out biases that cancel out in a softmax; only numerical noise trains them."""
    if name.endswith("attention.self.key.bias"):
        return weights[:0]
    return weights[:, :-1] if name == "fusion.hidden" else weights


WEIGHTS = ("weights.safetensors", "tower.safetensors")


def assert_same_weights(one: Path, other: Path, files: Sequence[str] = WEIGHTS) -> None:
    """Compare the network and the fine-tuned encoder of two models."""
    for file in files:
        expected, found = load_file(one / file), load_file(other / file)
        assert expected.keys() == found.keys()
        for name, weights in expected.items():
            pair = without_noise(name, found[name]), without_noise(name, weights)
            torch.testing.assert_close(*pair, atol=1e-4, rtol=1e-3, msg=name)


@pytest.mark.slow
def test_two_processes_give_the_network_of_one(pantry: Path, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    settings = SMALL | {"epochs": 3, "tower_epochs": 0, "features": "static"}
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    options = [*changes, "--device", "cpu", "--seed", "1", "--quiet"]
    done = run(*torchrun(2, pantry, "-o", together, *options))
    assert done.returncode == 0, done.stderr[-3000:]
    assert main(["train", str(pantry), "-o", str(alone), *options]) == 0
    assert_same_weights(alone, together, ["weights.safetensors"])


@pytest.mark.slow
def test_two_processes_give_the_weights_and_the_messages_of_one(
    pantry: Path, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    alone, together, log = tmp_path / "alone", tmp_path / "together", tmp_path / "log"
    done = run(*torchrun(2, pantry, "-o", together, *options, "--log", log, "--json"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert main(["train", str(pantry), "-o", str(alone), *options, "--json"]) == 0
    assert_same_weights(alone, together)
    expected = capsys.readouterr()
    figures = [json.loads(text) for text in (expected.out, done.stdout)]
    assert figures[0]["validation"] == pytest.approx(figures[1]["validation"], abs=1e-3)
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [1, 2, 3]
    for line in ("training on 89 concepts", "epoch   3", "fine-tuning epoch 2", "model written"):
        assert done.stderr.count(line) == expected.err.count(line) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "log", "together"]


def interrupt(command: list[str], line: str) -> str:
    """Press Ctrl-C, which reaches all processes, after this line; return the messages."""
    with subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        messages = ""
        for message in process.stderr:
            messages += message
            if line in message:
                os.killpg(process.pid, signal.SIGINT)
                line = "no other line"
    assert process.returncode != 0
    return messages


@pytest.mark.slow
@pytest.mark.parametrize("last", ["epoch   2", "fine-tuning epoch 1"])
@pytest.mark.parametrize("counts", [(1, 2), (3, 1), (2, 3)])
def test_another_number_of_processes_resumes_with_the_same_result(
    pantry: Path, tmp_path: Path, options: list[str], last: str, counts: tuple[int, int]
) -> None:
    alone, model = tmp_path / "alone", tmp_path / "model"
    assert main(["train", str(pantry), "-o", str(alone), *options]) == 0
    first, second = (torchrun(count, pantry, "-o", model, *options) for count in counts)
    messages = interrupt(first, last)
    assert messages.count("taxoexpan: stopped") == 1
    assert messages.count("--resume continues the training from") == 1
    assert not model.exists()
    done = run(*second, "--resume")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "epoch   1" not in done.stderr
    assert_same_weights(alone, model)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "model"]


@pytest.mark.slow
def test_more_processes_than_texts_and_queries(tmp_path: Path, options: list[str]) -> None:
    """The last batch of every epoch has a single relation."""
    taxonomy = tmp_path / "foods.csv"
    lines = ["milk,food", "bread,food", "oat milk,milk", "goat milk,milk", "rye bread,bread"]
    taxonomy.write_text("\n".join(["child,parent", *lines]) + "\n", encoding="utf-8")
    small = ["--set", "tower_batch_size=2", "--quiet"]
    changed = [text.replace("batch_size=32", "batch_size=2") for text in options] + small
    assert len(Taxonomy.read(taxonomy).relations) == 5
    done = run(*torchrun(4, taxonomy, "-o", tmp_path / "together", *changed))
    assert done.returncode == 0, done.stderr[-3000:]
    assert main(["train", str(taxonomy), "-o", str(tmp_path / "alone"), *changed]) == 0
    assert_same_weights(tmp_path / "alone", tmp_path / "together")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--set", "hidden_dim=none"], "hidden_dim"),
        (["--device", "mps"], "several processes cannot share the device"),
        (["--set", "learning_rate=1e18"], "the loss became"),
    ],
)
def test_an_error_is_reported_once(
    pantry: Path, tmp_path: Path, wrong: list[str], message: str
) -> None:
    model = tmp_path / "model"
    done = run(*torchrun(3, pantry, "-o", model, "--preset", "fast", "--device", "cpu", *wrong))
    ours = [line for line in done.stderr.splitlines() if line.startswith("taxoexpan: ")]
    assert len(ours) == 1
    assert message in ours[0]
    assert done.returncode == 1
    assert "exitcode  : 2" in done.stderr
    assert not model.exists()


@pytest.mark.slow
def test_no_process_touches_the_checkpoint_of_a_running_training(
    pantry: Path, tmp_path: Path
) -> None:
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    checkpoint.touch()
    with output_lock(model, "another training"):
        done = run(*torchrun(2, pantry, "-o", model, "--preset", "fast", "--force"))
    ours = [line for line in done.stderr.splitlines() if line.startswith("taxoexpan: ")]
    assert len(ours) == 1
    assert "another training with this output is running" in ours[0]
    assert [each.name for each in tmp_path.iterdir()] == [checkpoint.name]


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_others(pantry: Path, tmp_path: Path) -> None:
    command = torchrun(2, pantry, "-o", tmp_path / "model", "--preset", "fast", "--device", "cpu")
    command += ["--set", "patience=1000", "--epochs", "100000"]
    with subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        messages = ""
        for line in process.stderr:
            if "epoch   2" in line:
                os.kill(second_worker(process.pid), signal.SIGKILL)
            messages += line
    assert process.returncode == 1
    assert messages.count("taxoexpan: ") <= 1
    assert "Error: [" not in messages


def second_worker(agent: int) -> int:
    """Return the process with rank 1 among the children of torchrun."""
    children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    (found,) = (c for c in children if b"\0RANK=1\0" in Path(f"/proc/{c}/environ").read_bytes())
    return int(found)


def test_other_commands_are_refused_by_the_first_process(
    pantry: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, message in ((0, "only train runs in several processes"), (1, "")):
        monkeypatch.setenv("RANK", str(rank))
        assert main(["check", str(pantry)]) == 2
        printed = capsys.readouterr().err
        assert message in printed
        assert bool(printed) == (rank == 0)
