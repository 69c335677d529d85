from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.errors import FormatError, ModelError


def drop_weights(path: Path) -> None:
    (path / "weights.safetensors").unlink()


def flip_a_byte(path: Path) -> None:
    file = path / "anchors.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def truncate_taxonomy(path: Path) -> None:
    file = path / "taxonomy/taxonomy.json"
    file.write_bytes(file.read_bytes()[:100])


def break_config(path: Path) -> None:
    (path / "config.json").write_text("{", encoding="utf-8")


def foreign_config(path: Path) -> None:
    (path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")


def drop_config(path: Path) -> None:
    (path / "config.json").unlink()


def change_config(name: str, value: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        config[name] = value
        (path / "config.json").write_text(json.dumps(config), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (drop_weights, "weights.safetensors is missing; train again"),
        (flip_a_byte, "anchors.safetensors is damaged"),
        (truncate_taxonomy, "taxonomy/taxonomy.json is damaged"),
        (break_config, "config.json cannot be read"),
        (foreign_config, "config.json does not belong to a taxoexpan model"),
        (drop_config, "no config.json; this is not a taxoexpan model"),
        (change_config("version", 99), "the model has format version 99"),
        (change_config("dimension", 7), "the parts of the model do not fit together"),
        (change_config("settings", {}), "the parts of the model do not fit together"),
        (change_config("sha256", {}), "config.json is damaged"),
    ],
)
def test_a_damaged_or_foreign_model_is_refused(
    model_directory: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_directory, copy)
    damage(copy)
    with pytest.raises(ModelError, match=message):
        TaxoExpan.load(copy)


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


def test_the_card_names_seed_data_and_figures(model_directory: Path) -> None:
    card = (model_directory / "README.md").read_text(encoding="utf-8")
    assert "seed 1" in card
    assert "Hit@1" in card
    assert "89 concepts" in card
