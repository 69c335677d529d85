"""The curves, read with TensorBoard's own reader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.cli.main import main
from tests.support.small_models import SMALL

QUICK = {**SMALL, "epochs": 3}


def curves_in(folder: Path) -> dict[str, list[tuple[int, float]]]:
    reader = EventAccumulator(str(folder))
    reader.Reload()
    return {
        name: [(event.step, event.value) for event in reader.Scalars(name)]
        for name in reader.Tags()["scalars"]
    }


def losses_of(model: TaxoExpan) -> list[tuple[int, float]]:
    assert model.history is not None
    return [(e.number, pytest.approx(e.loss, rel=1e-6)) for e in model.history.epochs]


def test_every_metric_of_every_epoch_becomes_a_curve(pantry: Path, tmp_path: Path) -> None:
    folder = tmp_path / "curves"
    model = TaxoExpan("fast", device="cpu", **QUICK).fit(read_taxonomy(pantry), tensorboard=folder)
    curves = curves_in(folder)
    assert curves["loss"] == losses_of(model)
    assert model.history is not None
    epochs = model.history.epochs
    assert curves["learning_rate"] == [
        (e.number, pytest.approx(e.learning_rate, rel=1e-6)) for e in epochs
    ]
    assert all(epoch.seconds > 0 for epoch in epochs)
    for epoch in epochs:
        assert epoch.validation is not None
        for name, value in epoch.validation.as_dict().items():
            place, shown = curves[f"validation/{name}"][epoch.number - 1]
            assert (place, shown) == (epoch.number, pytest.approx(value, rel=1e-6))


def test_a_resumed_training_continues_its_curves(pantry: Path, tmp_path: Path) -> None:
    taxonomy, folder, checkpoint = read_taxonomy(pantry), tmp_path / "c", tmp_path / "checkpoint"
    for epochs in (2, 4):
        model = TaxoExpan("fast", device="cpu", **{**QUICK, "epochs": epochs})
        model.fit(taxonomy, checkpoint=checkpoint, tensorboard=folder)
    assert curves_in(folder)["loss"] == losses_of(model)


def test_another_training_in_the_same_folder_replaces_the_first(
    pantry: Path, tmp_path: Path
) -> None:
    taxonomy, folder = read_taxonomy(pantry), tmp_path / "curves"
    for seed in (1, 2):
        model = TaxoExpan("fast", seed=seed, device="cpu", **QUICK).fit(
            taxonomy, tensorboard=folder
        )
    assert curves_in(folder)["loss"] == losses_of(model)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "file: is a file"),
        ("nowhere/curves", "does not exist"),
        ("model", "model: is inside"),
    ],
)
def test_an_unwritable_folder_is_refused_before_the_training(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    (tmp_path / "file").write_text("precious")
    command = [
        "train",
        str(pantry),
        "-o",
        str(tmp_path / "model"),
        "--preset",
        "fast",
        "--features",
        "static",
    ]
    assert main([*command, "--tensorboard", str(tmp_path / name)]) == 2
    messages = capsys.readouterr().err
    assert message in messages
    assert "training on" not in messages
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_a_full_disk_is_noticed_while_curves_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "curves"
    program = f"""
import resource, signal, threading
from taxoexpan.training.log import TensorBoardWriter
from pathlib import Path
threading.excepthook = lambda _: None  # this ends TensorBoard's own thread
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
board = TensorBoardWriter(Path({str(folder)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    for number in range(1, 50):
        board.write(number, {{"loss": 1.0}})
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "File too large\n", done.stderr


def test_without_tensorboard_the_error_says_how_to_install_it(
    pantry: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    command = ["train", str(pantry), "-o", str(tmp_path / "model"), "--quiet", "--epochs", "1"]
    command += ["--preset", "fast", "--features", "static"]
    assert main([*command, "--tensorboard", str(tmp_path / "curves")]) == 2
    message = capsys.readouterr().err.splitlines()[0]
    assert message.startswith("taxoexpan: TensorBoard cannot be used here")
    assert message.endswith("; pip install tensorboard")
    assert list(tmp_path.iterdir()) == []
    assert main(command) == 0
