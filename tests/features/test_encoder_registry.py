from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.cached_encoder import CachedEncoder
from taxoexpan.features.encoder_registry import ConcatenatedEncoder, make_encoder
from taxoexpan.features.static import StaticEncoder, load_wordllama
from tests.support.small_models import SIZES


@pytest.fixture
def word_vectors(tmp_path: Path, pantry: Path) -> Path:
    """A file with random vectors for all words of the pantry."""
    words = sorted({word for name in read_taxonomy(pantry).labels for word in name.split()})
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


def test_all_parts_of_an_encoder_are_unloaded(tiny_transformer: Path) -> None:
    encoder = make_encoder(f"static+transformer:{tiny_transformer}", device="cpu")
    assert isinstance(encoder, ConcatenatedEncoder)
    _, cached = encoder.parts
    assert isinstance(cached, CachedEncoder)
    assert encoder.part_with_model() is cached
    expected = encoder.encode(["oat milk", "a drink of rye"])
    model = cached.copy_model()  # loads it, even if the vectors were cached
    freed = [weakref.ref(vars(cached.inner)["_model"]), weakref.ref(load_wordllama())]
    encoder.unload()
    gc.collect()
    assert [each() for each in freed] == [None, None]
    assert model is not None
    assert np.array_equal(encoder.encode(["oat milk", "a drink of rye"]), expected)


@pytest.mark.parametrize(
    ("name", "part"),
    [("static", None), ("pretrained", "pretrained"), ("static+pretrained", "pretrained")],
)
def test_the_part_with_a_sentence_model_is_found(name: str, part: str | None) -> None:
    found = make_encoder(name, device="cpu").part_with_model()
    assert (None if found is None else found.name) == part


def test_an_encoder_without_a_sentence_model_says_so() -> None:
    with pytest.raises(ConfigurationError, match="'static' has no sentence model"):
        StaticEncoder().copy_model()


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
    model = TaxoExpan(features=f"vectors:{path}", **SIZES)
    with pytest.raises(ModelError, match="no vector for any name of the taxonomy"):
        model.fit(read_taxonomy(pantry))
    path.write_text("2 3\nmilk 1 2 3\ntea 3 2 1\n", encoding="utf-8")
    model = TaxoExpan(features=f"vectors:{path}", **SIZES | {"epochs": 1})
    with pytest.warns(UserWarning, match="concepts have no vector in 'vectors:"):
        model.fit(read_taxonomy(pantry))
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
    settings = SIZES | {"epochs": 1}
    changes = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    assert main([*command, *changes, "--quiet"]) == 0
    loaded = TaxoExpan.load(model)
    assert loaded.suggest(["almond cheese milk"], top_k=1).flat
    word_vectors.write_text(word_vectors.read_text().replace("0.1", "0.2"), encoding="utf-8")
    with pytest.raises(ModelError, match="differ from the training"):
        TaxoExpan.load(model)


def test_moved_vectors_are_found_with_an_option(
    pantry: Path, word_vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = TaxoExpan(features=f"vectors:{word_vectors}", **SIZES | {"epochs": 1})
    model.fit(read_taxonomy(pantry)).save(tmp_path / "model")
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


def test_the_default_model_names_its_encoder_everywhere(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taxonomy = read_taxonomy(pantry)
    drinks = taxonomy.without([name for name in taxonomy if not name.endswith(("milk", "tea"))])
    model, best = TaxoExpan(device="cpu", **SIZES | {"epochs": 2}).fit(drinks), "static+pretrained"
    assert (model.preset, model.config.features, model.encoder.name) == ("best", best, best)
    assert model.encoder.dimension == 256 + 384
    model.save(tmp_path / "model")
    saved = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert saved["settings"]["features"] == best
    assert best in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["validation"]["queries"] > 0
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.suggest(["cashew milk"], 3).flat == model.suggest(["cashew milk"], 3).flat
