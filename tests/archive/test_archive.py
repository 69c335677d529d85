from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from taxoexpan import TaxoExpan
from taxoexpan.archive import load_summary
from taxoexpan.errors import FormatError, ModelError
from taxoexpan.model_directory import FileEntry, Manifest
from taxoexpan.placement.scoring.pair_features import Signal
from tests.support.resealing import change_json, change_tensors
from tests.support.tiny_transformer import save_bert

Change = Callable[[Path], object]


def flip_a_byte_of(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def written(name: str, content: str) -> Change:
    """Replace a file, without a new checksum."""
    return lambda path: (path / name).write_text(content, encoding="utf-8")


def removed(name: str, put: Callable[[Path], object] = lambda _: None) -> Change:
    """Remove a file, and put something else in its place."""

    def change(path: Path) -> None:
        (path / name).unlink()
        put(path / name)

    return change


def anchors(change: Callable[[dict[str, torch.Tensor]], object]) -> Change:
    return lambda path: change_tensors(path, "anchors.safetensors", change)


def config(name: str, value: object) -> Change:
    return lambda path: change_json(path, "config.json", lambda c: c.update({name: value}))


def manifest(name: str, value: object) -> Change:
    def change(path: Path) -> None:
        fields = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        (path / "manifest.json").write_text(json.dumps({**fields, name: value}))

    return change


def name_a_file_outside(path: Path) -> None:
    entry = json.loads((path / "manifest.json").read_text())["files"]["config.json"]
    listed = Manifest(files={"../model/config.json": FileEntry(**entry)})
    digest = {"sha256": listed.digest()}
    (path / "manifest.json").write_text(listed.model_copy(update=digest).model_dump_json())


def other_weights(path: Path) -> None:
    """The weights of another model, and a manifest that lists them."""
    change_tensors(path, "weights.safetensors", lambda t: t["match.weight"].mul_(2))


def word_out_of_range(path: Path) -> None:
    """A matrix that scipy would write outside of."""
    change_tensors(path, "words.safetensors", lambda t: t["labels.indices"][0].fill_(10**6))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (removed("weights.safetensors"), "weights.safetensors is missing"),
        (lambda path: flip_a_byte_of(path / "anchors.safetensors"), "anchors.safetensors is dama"),
        (written("taxonomy.safetensors", "{"), "taxonomy.safetensors is damaged"),
        (written("manifest.json", "{"), "manifest.json cannot be read"),
        (written("manifest.json", '{"model_type": "bert"}'), "does not belong to a taxoexpan"),
        (removed("manifest.json"), "no manifest.json; .* older version; train again"),
        (lambda path: flip_a_byte_of(path / "config.json"), "config.json is damaged"),
        (removed("calibration.json", os.mkfifo), "calibration.json .*not a regular file"),
        (removed("manifest.json", os.mkfifo), "manifest.json .*not a regular file"),
        (
            removed("words.safetensors", lambda path: path.symlink_to("/dev/zero")),
            "words.safetensors .*not a regular file",
        ),
        (removed("config.json", Path.mkdir), "config.json .*not a regular file"),
        (name_a_file_outside, "manifest.json is damaged"),
        (anchors(lambda t: t.update(keys=t["keys"].double())), "keys of the wrong type"),
        (anchors(lambda t: t.update(keys=t["keys"][:-1])), "keys of the wrong type or shape"),
        (word_out_of_range, "the parts of the model do not fit together .*indices must be"),
        (other_weights, "anchors.safetensors belongs to another model"),
        (manifest("version", 10), "saved by an older version of taxoexpan; train again"),
        (manifest("version", 99), "saved by a newer"),
        (manifest("version", [[]]), "saved by a newer or unknown version"),
        (manifest("files", {}), "manifest.json is damaged"),
        (manifest("more", 1), "manifest.json is damaged"),
        (config("dimension", 7), "do not fit together"),
        (config("settings", {}), "the setting 'features' is missing"),
        (config("seed", -1), "config.json: seed"),
        (config("model", "0" * 32), "config.json belongs to another model"),
    ],
)
def test_a_damaged_or_foreign_model_is_refused(
    model_directory: Path, tmp_path: Path, damage: Change, message: str
) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_directory, copy)
    damage(copy)
    with pytest.raises(ModelError, match=f"^{copy}: .*{message}") as caught:
        TaxoExpan.load(copy)
    assert len(str(caught.value)) < 1000


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model directory"):
        TaxoExpan.load(tmp_path / "nothing")


def test_no_file_of_a_model_is_a_pickle(model_directory: Path) -> None:
    suffixes = {path.suffix for path in model_directory.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors", ".md"}


def test_a_model_is_not_overwritten_unless_forced(model: TaxoExpan, tmp_path: Path) -> None:
    path = tmp_path / "model"
    model.save(path)
    with pytest.raises(FormatError, match="already exists"):
        model.save(path)
    (path / "precious.txt").write_text("mine")
    with pytest.raises(FormatError, match="contains other files, such as precious"):
        model.save(path, force=True)
    (path / "precious.txt").unlink()
    model.save(path, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model"]
    assert TaxoExpan.load(path).taxonomy == model.taxonomy


def test_a_new_model_replaces_one_of_an_older_version(
    model: TaxoExpan, model_directory: Path, tmp_path: Path
) -> None:
    older = shutil.copytree(model_directory, tmp_path / "older")
    manifest("version", 10)(older)
    (older / "search.safetensors").write_bytes(b"a candidate search")
    (older / "features").mkdir()
    (older / "features" / "vocabulary.json").write_text("{}")
    with pytest.raises(ModelError, match="older version"):
        TaxoExpan.load(older)
    model.save(older, force=True)
    assert (
        TaxoExpan.load(older, "cpu").suggest(["cashew milk"]).flat
        == model.suggest(["cashew milk"]).flat
    )
    assert not (older / "search.safetensors").exists()
    assert not (older / "features").exists()


def test_the_card_names_seed_data_and_figures(model_directory: Path) -> None:
    card = (model_directory / "README.md").read_text(encoding="utf-8")
    assert "Confidence: too few leaves are held out to measure it" in card
    assert "seed 1" in card
    assert "Hit@1" in card
    assert "89 concepts" in card


NEW = ["cashew milk", "white tea", "rye crisp bread"]


@pytest.fixture(scope="module")
def tuned_directory(tuned_model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tuned") / "model"
    tuned_model.save(path)
    return path


@pytest.fixture
def copied(tuned_directory: Path, tmp_path: Path) -> Path:
    """A copy of the model with a fine-tuned encoder, which a test may change."""
    return Path(shutil.copytree(tuned_directory, tmp_path / "model"))


@pytest.mark.slow
def test_a_fine_tuned_encoder_is_saved_and_loaded(
    tuned_model: TaxoExpan, tuned_directory: Path, tmp_path: Path
) -> None:
    loaded = TaxoExpan.load(tuned_directory, "cpu")
    assert loaded.suggest(NEW, 5).flat == tuned_model.suggest(NEW, 5).flat
    weights = load_file(tuned_directory / "tower.safetensors")
    assert tuned_model._tower is not None
    assert loaded._tower is not None
    learned, again = tuned_model._tower.weights(), loaded._tower.weights()
    assert weights.keys() == learned.keys() == again.keys()
    for name, tensor in learned.items():
        assert torch.equal(weights[name], tensor)
        assert torch.equal(again[name], tensor)
    loaded.save(tmp_path / "again")
    for part in ("tower", "anchors", "weights"):
        one, other = (p / f"{part}.safetensors" for p in (tuned_directory, tmp_path / "again"))
        assert one.read_bytes() == other.read_bytes()


def test_a_summary_describes_the_fine_tuning_and_the_signals(
    tuned_model: TaxoExpan, tuned_directory: Path, model_directory: Path
) -> None:
    tuned, plain = load_summary(tuned_directory), load_summary(model_directory)
    assert tuned.training == tuned_model.training
    assert tuned_model.tower_history is not None
    assert tuned.training.tower_epochs == 2
    assert tuned.training.tower_best_epoch == tuned_model.tower_history.best
    assert tuned.fine_tuned
    assert set(tuned.signals) == set(Signal)
    assert (plain.training.tower_epochs, plain.training.tower_best_epoch) == (None, None)
    assert not plain.fine_tuned
    assert set(plain.signals) == set(Signal) - {Signal.TOWER}


@pytest.mark.parametrize("part", ["tower", "weights", "anchors"])
def test_a_summary_refuses_a_damaged_part(copied: Path, part: str) -> None:
    flip_a_byte_of(copied / f"{part}.safetensors")
    with pytest.raises(ModelError, match=f"{part}.safetensors is damaged"):
        load_summary(copied)


def test_a_fine_tuned_encoder_of_another_transformer_is_refused(copied: Path) -> None:
    change_tensors(
        copied,
        "tower.safetensors",
        lambda weights: weights.update({name: each[:1] for name, each in weights.items()}),
    )
    with pytest.raises(ModelError, match="the parts of the model do not fit together"):
        TaxoExpan.load(copied)


def test_a_fine_tuned_encoder_is_refused_with_other_features(copied: Path, tmp_path: Path) -> None:
    other = save_bert(tmp_path / "other", ["milk", "tea"])
    for features in ("static", f"static+transformer:{other}"):
        with pytest.raises(ModelError, match="differ from the training"):
            TaxoExpan.load(copied, features=features)


def test_the_transformer_may_move(
    tuned_model: TaxoExpan, copied: Path, tiny_transformer: Path, tmp_path: Path
) -> None:
    moved = shutil.copytree(tiny_transformer, tmp_path / "moved")
    loaded = TaxoExpan.load(copied, "cpu", features=f"static+transformer:{moved}")
    assert loaded.suggest(NEW, 3).flat == tuned_model.suggest(NEW, 3).flat


def test_a_model_that_lost_its_fine_tuned_encoder_is_refused(copied: Path) -> None:
    """The anchors were encoded by it, so new concepts must be, too."""
    (copied / "tower.safetensors").unlink()
    with pytest.raises(ModelError, match=r"tower\.safetensors"):
        TaxoExpan.load(copied)
