from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from expanded_files import write_file

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept

STATIC = ["--features", "static"]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label,synonyms\nrice milk,milk of rice|Horchata\n")


def test_vectors_are_kept_by_id(pantry: Path, new: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.npz"
    run("embed", pantry, new, "-o", out, *STATIC, "--quiet")
    taxonomy, kept = Taxonomy.read(pantry), np.load(out, allow_pickle=False)
    expected = embed_concepts(StaticEncoder(), taxonomy.concepts)
    assert kept["ids"][:-1].tolist() == list(taxonomy.ids)
    assert kept["labels"][-1] == "rice milk"
    assert np.array_equal(kept["vectors"][:-1], expected[0])
    assert np.array_equal(kept["heads"][:-1], expected[1])


def test_word2vecs_text_can_be_read_back_as_features(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.vec"
    run("embed", pantry, new, "-o", out, *STATIC)
    rice = Concept("", "rice milk", ("milk of rice", "Horchata"))
    concepts = [*Taxonomy.read(pantry).concepts, rice]
    again = embed_concepts(make_encoder(f"vectors:{out}"), concepts)[0]
    np.testing.assert_allclose(again, embed_concepts(StaticEncoder(), concepts)[0], atol=1e-6)


def test_the_nearest_are_shown(pantry: Path) -> None:
    command = ["embed", str(pantry), "--nearest", "Oat Milk", "--nearest", "cheddar", "--top", "3"]
    command += STATIC
    messages = run(*command).out.splitlines()
    assert [line for line in messages if line.endswith(":")] == ["Oat Milk:", "cheddar:"]
    assert len(messages) == 8
    found = json.loads(run(*command, "--json").out)["Oat Milk"]
    taxonomy = Taxonomy.read(pantry)
    vectors = embed_concepts(StaticEncoder(), taxonomy.concepts)[0]
    cosines = vectors @ StaticEncoder().encode(["oat milk"])[0]
    assert [one["cosine"] for one in found] == pytest.approx(sorted(cosines)[:-4:-1], abs=1e-6)
    assert found[0]["path"] == list(taxonomy.path(found[0]["id"]))


@pytest.mark.filterwarnings("always")
def test_an_unknown_term_is_reported(pantry: Path, tmp_path: Path) -> None:
    path = write_file(tmp_path / "few.vec", "1 3\nmilk 1 2 3\n")
    command = ["embed", pantry, "--features", f"vectors:{path}", "--nearest"]
    messages = run(*command, "zzzz").err
    assert "there is no vector for 'zzzz'" in messages
    assert "concepts have no vector in 'vectors:" in messages
    path.write_text("1 3\nquasar 1 2 3\n", encoding="utf-8")
    assert "no vector for any name" in run(*command, "quasar", status=2).err


def test_settings_decide(pantry: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.npz"
    command = ["embed", pantry, "-o", out]
    run(*command, "--features", "static+static")
    assert np.load(out)["vectors"].shape[1] == 512
    messages = run(
        *command, "--force", "--set", "name_weight=0", "--set", "definition_weight=0", status=2
    ).err
    assert "both 0" in messages


def test_a_model_has_its_own_vectors(
    model_directory: Path, tmp_path: Path, model: TaxoExpan
) -> None:
    out = tmp_path / "v.npz"
    run("embed", model_directory, "-o", out, "--nearest", "milk")
    assert np.load(out)["vectors"].shape == (len(model.taxonomy), 256)
    run("embed", model_directory, "--nearest", "milk", "--set", "oov=zero", status=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to do; give -o FILE or --nearest TERM"),
        (["-o", "vectors.parquet"], "cannot be written as .parquet; choose one of .npz"),
        (["-o", "vectors"], "a file without a suffix"),
        (["--nearest", "x", "--features", "bert"], "there are no features 'bert'"),
        (["--nearest", "x", "--set", "oov=maybe"], "it must be 'skip' or 'zero'"),
    ],
)
def test_impossible_requests_are_refused(pantry: Path, arguments: list[str], message: str) -> None:
    assert message in run("embed", pantry, *arguments, status=2).err


def test_nothing_is_overwritten(pantry: Path, tmp_path: Path) -> None:
    out = write_file(tmp_path / "v.vec", "mine")
    assert "already exists" in run("embed", pantry, "-o", out, status=2).err
    assert out.read_text(encoding="utf-8") == "mine"
