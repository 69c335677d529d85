from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept

STATIC = ["--features", "static"]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.csv"
    path.write_text("label,synonyms\nrice milk,milk of rice|Horchata\n", encoding="utf-8")
    return path


def test_vectors_are_kept_by_id(pantry: Path, new: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.npz"
    assert main(["embed", str(pantry), str(new), "-o", str(out), *STATIC, "--quiet"]) == 0
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
    assert main(["embed", str(pantry), str(new), "-o", str(out), *STATIC]) == 0
    rice = Concept("", "rice milk", ("milk of rice", "Horchata"))
    concepts = [*Taxonomy.read(pantry).concepts, rice]
    again = embed_concepts(make_encoder(f"vectors:{out}"), concepts)[0]
    np.testing.assert_allclose(again, embed_concepts(StaticEncoder(), concepts)[0], atol=1e-6)


def test_the_nearest_are_shown(pantry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["embed", str(pantry), "--nearest", "Oat Milk", "--nearest", "cheddar", "--top", "3"]
    command += STATIC
    assert main(command) == 0
    messages = capsys.readouterr().out.splitlines()
    assert [line for line in messages if line.endswith(":")] == ["Oat Milk:", "cheddar:"]
    assert len(messages) == 8
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["Oat Milk"]
    taxonomy = Taxonomy.read(pantry)
    vectors = embed_concepts(StaticEncoder(), taxonomy.concepts)[0]
    cosines = vectors @ StaticEncoder().encode(["oat milk"])[0]
    assert [one["cosine"] for one in found] == pytest.approx(sorted(cosines)[:-4:-1], abs=1e-6)
    assert found[0]["path"] == list(taxonomy.path(found[0]["id"]))


@pytest.mark.filterwarnings("always")
def test_an_unknown_term_is_reported(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.vec"
    path.write_text("1 3\nmilk 1 2 3\n", encoding="utf-8")
    command = ["embed", str(pantry), "--features", f"vectors:{path}", "--nearest"]
    assert main([*command, "zzzz"]) == 0
    messages = capsys.readouterr().err
    assert "there is no vector for 'zzzz'" in messages
    assert "concepts have no vector in 'vectors:" in messages
    path.write_text("1 3\nquasar 1 2 3\n", encoding="utf-8")
    assert main([*command, "quasar"]) == 2
    assert "no vector for any name" in capsys.readouterr().err


def test_settings_decide(pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "v.npz"
    command = ["embed", str(pantry), "-o", str(out)]
    assert main([*command, "--features", "static+static"]) == 0
    assert np.load(out)["vectors"].shape[1] == 512
    assert (
        main([*command, "--force", "--set", "name_weight=0", "--set", "definition_weight=0"]) == 2
    )
    assert "both 0" in capsys.readouterr().err


def test_a_model_has_its_own_vectors(
    model_directory: Path, tmp_path: Path, model: TaxoExpan
) -> None:
    out = tmp_path / "v.npz"
    assert main(["embed", str(model_directory), "-o", str(out), "--nearest", "milk"]) == 0
    assert np.load(out)["vectors"].shape == (len(model.taxonomy), 256)
    assert main(["embed", str(model_directory), "--nearest", "milk", "--set", "oov=zero"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to do; give -o FILE or --nearest TERM"),
        (["-o", "vectors.parquet"], "cannot be written as .parquet; choose one of .npz"),
        (["-o", "vectors"], "a file without a suffix"),
        (["--nearest", "x", "--features", "bert"], "there are no features 'bert'"),
        (["--nearest", "x", "--set", "oov=maybe"], "it must be one of skip, zero"),
    ],
)
def test_impossible_requests_are_refused(
    pantry: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", str(pantry), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_overwritten(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "v.vec"
    out.write_text("mine", encoding="utf-8")
    assert main(["embed", str(pantry), "-o", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
