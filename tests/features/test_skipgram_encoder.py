from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import SIZES
from letters import Letters, linear_vectors
from safetensors.numpy import load_file, save_file

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.errors import FormatError, ModelError
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.skipgram_encoder import VECTORS_FILE, CorpusEncoder, SkipGramEncoder
from taxoexpan.features.skipgram_training import SkipGramVectors
from taxoexpan.taxonomy import Concept


def small() -> SkipGramVectors:
    """Five words in two dimensions; the first two are names."""
    vectors = np.array([[3, 0], [0, 2], [1, 1], [0, -1], [-1, 0]], dtype=np.float32)
    words = ("green_tea", "soda", "green", "tea", "cup")
    return SkipGramVectors(words, frozenset(words[:2]), np.arange(9, 4, -1), vectors)


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("green tea", (1, 0)),
        ("Green-Teas", (1, 0)),
        ("tea", (0, -1)),
        ("a tea cup", (-1, -1)),
        ("soda tea-cup", (-1, 0)),
        ("mug of green teas, soda", (1, 1)),
        ("skyr", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_a_text_is_the_mean_of_its_known_names_and_words(
    text: str, vector: tuple[int, int]
) -> None:
    expected = np.array(vector, dtype=np.float32) / max(np.hypot(*vector), 1)
    assert np.allclose(SkipGramEncoder(small()).encode([text, "cup"])[0], expected, atol=1e-6)


@pytest.mark.parametrize("fallback", [None, Letters()])
def test_a_saved_encoder_gives_the_same_vectors(tmp_path: Path, fallback: Letters | None) -> None:
    learned = linear_vectors()
    encoder = SkipGramEncoder(learned, fallback)
    encoder.save(tmp_path / "vectors")
    loaded = SkipGramEncoder.load(tmp_path / "vectors", fallback)
    texts = [learned.words[0], f"cup of {learned.words[1]}", "kvass", "?"]
    assert np.array_equal(loaded.encode(texts), encoder.encode(texts))
    assert loaded.fingerprint() == encoder.fingerprint()
    assert sorted(path.name for path in (tmp_path / "vectors").iterdir()) == [
        "vectors.safetensors",
        "vocabulary.json",
    ]


def damage(folder: Path, kind: str) -> None:
    """Damage saved vectors in some way."""
    vocabulary = json.loads((folder / "vocabulary.json").read_text())
    tensors = load_file(folder / VECTORS_FILE)
    match kind:
        case "nested":
            (folder / "vocabulary.json").write_bytes(b"[" * 100_000)
        case "version":
            (folder / "vocabulary.json").write_text(json.dumps({**vocabulary, "version": 9}))
        case "words":
            (folder / "vocabulary.json").write_text(json.dumps({**vocabulary, "words": None}))
        case "list":
            (folder / "vocabulary.json").write_text("[]")
        case "vocabulary.json":
            (folder / "vocabulary.json").unlink()
        case "truncated":
            content = (folder / VECTORS_FILE).read_bytes()
            (folder / VECTORS_FILE).write_bytes(content[:-9])
        case "fingerprint":
            changed = {**tensors, "vectors": tensors["vectors"] + 1}
            save_file(changed, folder / VECTORS_FILE)
        case "NaN":
            save_file({**tensors, "vectors": tensors["vectors"] * np.nan}, folder / VECTORS_FILE)
        case "shape":
            save_file({**tensors, "counts": tensors["counts"][:1]}, folder / VECTORS_FILE)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nested", "nested too deeply"),
        ("version", "they have version 9"),
        ("words", "damaged"),
        ("list", "damaged"),
        ("vocabulary.json", r"vocabulary\.json"),
        ("truncated", "damaged"),
        ("fingerprint", "fingerprint does not match"),
        ("NaN", "NaN"),
        ("shape", "wrong shape"),
    ],
)
def test_damaged_vectors_are_refused(tmp_path: Path, kind: str, message: str) -> None:
    SkipGramEncoder(small()).save(tmp_path / "vectors")
    damage(tmp_path / "vectors", kind)
    with pytest.raises(ModelError, match=message):
        SkipGramEncoder.load(tmp_path / "vectors")


def test_the_fallback_must_be_the_same(tmp_path: Path) -> None:
    SkipGramEncoder(linear_vectors(), Letters()).save(tmp_path / "with")
    SkipGramEncoder(linear_vectors()).save(tmp_path / "without")
    for name, fallback in (("with", None), ("without", Letters())):
        with pytest.raises(ModelError, match="fallback"):
            SkipGramEncoder.load(tmp_path / name, fallback)


pytest.importorskip("gensim")

QUICK = [part for name, value in SIZES.items() for part in ("--set", f"{name}={value}")]


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
        model = TaxoExpan(features=f"skipgram:{corpus}", device="cpu", **SIZES | {"epochs": 2})
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
