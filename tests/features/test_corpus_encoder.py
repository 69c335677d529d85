from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.errors import FormatError, ModelError
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.skipgram_encoder import CorpusEncoder
from taxoexpan.taxonomy import Concept

pytest.importorskip("gensim")

QUICK = [part for name, value in SMALL.items() for part in ("--set", f"{name}={value}")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(folder))
    return folder


@pytest.fixture(scope="module")
def corpus(pantry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts that mention every food together with its parent."""
    taxonomy, rng, lines = Taxonomy.read(pantry), random.Random(0), []
    for id in taxonomy:
        parents = [taxonomy.concept(parent).label for parent in taxonomy.parents(id)] or ["food"]
        for _ in range(6):
            words = rng.sample(["eat", "fresh", "cheap", "market", "kitchen"], 3)
            lines.append(f"{taxonomy.concept(id).label} {words[0]} {parents[0]} {' '.join(words)}")
    lines += [f"Moon Broth and moon {word} milk" for word in ("eat", "fresh", "market")] * 5
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_names_are_learned_from_the_corpus(corpus: Path, pantry: Path) -> None:
    encoder = make_encoder(f"skipgram:{corpus}")
    encoder.learn([*Taxonomy.read(pantry).labels, "moon broth"])
    assert encoder.dimension == 250
    broth, moon, unmentioned = encoder.encode(["moon broth", "moon", "quasar"])
    assert 0.1 < broth @ moon < 0.999
    assert unmentioned.any(), "names that the corpus lacks come from static vectors"
    np.testing.assert_allclose(np.linalg.norm([broth, moon, unmentioned], axis=1), 1, rtol=1e-5)


def test_a_name_that_was_not_learned_is_the_mean_of_its_words(corpus: Path, pantry: Path) -> None:
    encoder = CorpusEncoder(corpus)
    encoder.learn(Taxonomy.read(pantry).labels)
    both, moon, broth = encoder.encode(["moon broth", "moon", "broth"])
    assert np.allclose(both, (moon + broth) / np.linalg.norm(moon + broth), atol=1e-6)


def test_trained_vectors_are_reused_unless_they_are_damaged(
    corpus: Path, pantry: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, other = (CorpusEncoder(corpus) for _ in range(3))
    names = Taxonomy.read(pantry).labels
    first.learn(names)
    assert len(list((cache / "skipgram").iterdir())) == 1
    with monkeypatch.context() as patched:
        patched.setattr("taxoexpan.features.skipgram_encoder.train_skipgram", None)
        second.learn(list(reversed(names)))
        with pytest.raises(TypeError):
            other.learn([*names, "moon broth"])
    assert second.fingerprint() == first.fingerprint()
    for file in (cache / "skipgram").rglob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:-1])
    other.learn(names)
    assert other.fingerprint() == first.fingerprint()


def test_a_cache_that_cannot_be_written_is_only_a_warning(
    corpus: Path, pantry: Path, cache: Path
) -> None:
    cache.write_text("a file in its place", encoding="utf-8")
    encoder = CorpusEncoder(corpus)
    with pytest.warns(UserWarning, match="the trained vectors are not cached"):
        encoder.learn(Taxonomy.read(pantry).labels)
    assert encoder.encode(["milk"]).any()


def test_a_saved_model_needs_no_corpus(
    corpus: Path, pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts.txt"
    shutil.copy(corpus, texts)
    new = tmp_path / "new.txt"
    new.write_text("moon broth\n", encoding="utf-8")
    model, features = tmp_path / "model", f"static+skipgram:{texts}"
    train = ["train", str(pantry), "-o", str(model), "--features", features, "--expect", str(new)]
    assert main([*train, *QUICK, "--quiet"]) == 0
    texts.unlink()
    shutil.rmtree(tmp_path / "cache")
    loaded = TaxoExpan.load(model)
    names = ["moon broth", "moon", "broth"]
    whole, moon, broth = loaded.encoder.encode(names)[:, 256:]
    assert not np.allclose(whole, moon + broth, atol=0.1), "an expected name is learned as one word"
    assert main(["suggest", str(model), str(new)]) == 0
    assert "moon broth" in capsys.readouterr().out
    (model / "features" / "1" / "vectors.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"vectors\.safetensors is damaged"):
        TaxoExpan.load(model)


def test_the_same_corpus_gives_the_same_model(
    corpus: Path, pantry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAXOEXPAN_CACHE", "")
    taxonomy = Taxonomy.read(pantry)
    scores = []
    for _ in range(2):
        model = TaxoExpan(features=f"skipgram:{corpus}", device="cpu", **SMALL | {"epochs": 2})
        model.fit(taxonomy, expected=["moon broth", Concept("", "moon juice")])
        scores.append([one.score for one in model.suggest(["moon broth"])])
    assert scores[0] == scores[1]


def test_an_unreadable_corpus_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        make_encoder(f"skipgram:{tmp_path / 'none.txt'}")
    (tmp_path / "a.txt").write_text("a text\n", encoding="utf-8")
    encoder = make_encoder(f"skipgram:{tmp_path / 'a.txt'}")
    with pytest.raises(ModelError, match="is not trained yet"):
        encoder.encode(["a"])


def test_a_corpus_about_another_subject_is_refused(tmp_path: Path, pantry: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_text("milk is what stars are made of\n" * 9, encoding="utf-8")
    encoder = CorpusEncoder(path)
    with pytest.raises(ModelError, match="use a corpus about the subject"):
        encoder.learn(Taxonomy.read(pantry).labels)
