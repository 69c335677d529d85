"""Smoke tests of the benchmarks: each starts, and the measures of those with one of their own."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.independent_readers import compare_files
from benchmarks.per_egonet_network import PlainNetwork, plain_batch
from benchmarks.scale import __main__ as scale
from benchmarks.scale.__main__ import COMMANDS, build_parser
from benchmarks.scale.mag_shaped_taxonomy import generate_vectors, mag_shaped_taxonomy
from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy
from tests.support.reference_network import double_precision

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if "argparse" in p.read_text("utf-8"))


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)])
def test_every_command_of_scale_describes_its_arguments(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        build_parser().parse_args([*words, "--help"])
    assert "usage" in capsys.readouterr().out


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_describes_its_arguments(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module(f"benchmarks.{script}", run_name="__main__")
    assert "usage" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(3))
def test_separately_encoded_egonets_have_the_loss_of_the_package(seed: int) -> None:
    with double_precision():
        small = {"hidden_dim": 3, "num_heads": 2, "embedding_dim": 4, "position_dim": 2}
        config = load_preset("paper", batch_size=16, num_negatives=7, dropout=0.0, **small)
        taxonomy = random_taxonomy(seed, count=8 + 7 * seed)
        network, drawn = MatchingNetwork(config, 6), torch.Generator().manual_seed(seed)
        for parameter in network.parameters():
            parameter.data.normal_(generator=drawn)
        vectors = torch.randn(2, len(taxonomy), 6, generator=drawn)
        for ours in TrainingSampler(taxonomy, config, seed).epoch():
            egonets = ours.egonets
            anchors = egonets.concepts[egonets.nodes.split(egonets.sizes)[1]].numpy()
            assert ours.negatives is not None
            theirs = plain_batch(
                taxonomy,
                ours.queries.numpy(),
                anchors[ours.positives.numpy()],
                anchors[ours.negatives.numpy().T],
                config.max_siblings,
                np.random.default_rng(0),
            )
            plain = PlainNetwork(network).loss(vectors, theirs)
            torch.testing.assert_close(network.loss(ConceptVectors.of(vectors), ours), plain)


def run_scale(*words: str | Path) -> Any:
    """Run a command of `python -m benchmarks.scale`, and return its figures."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        path = Path(folder) / "figures.json"
        patched.setattr(sys, "argv", ["scale", *map(str, words), "--json", str(path)])
        scale.main()
        return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_every_step_of_training_and_ranking_is_measured() -> None:
    found = run_scale("steps", "--concepts", "1200", "2400", "--batches", "1", "--queries", "8")
    assert [each["concepts"] for each in found["sizes"]] == [1_200, 2_400]
    for size in found["sizes"]:
        assert len(size["seconds"]) == 7
        assert all(seconds > 0 for seconds in size["seconds"].values())
        assert size["memory"]["peak"] > 100
    assert len(found["growth"][0]["exponents"]) == 7


@pytest.mark.slow
def test_every_stage_of_a_training_is_measured() -> None:
    found = run_scale("training", "600", "--device", "cpu", "--held-out", "60")
    stages = {each["stage"] for each in found["stages"]}
    assert {"read the file", "one epoch", "weights of the fusion", "whole training"} <= stages


def test_commands_on_awkward_shapes_end(tmp_path: Path) -> None:
    words = ["--shapes", "chain", "--scale", "0.01", "--new", "3", "--commands", "info,diff"]
    found = run_scale("shapes", tmp_path, *words)
    assert [(each["command"], each["status"]) for each in found] == [("info", "0"), ("diff", "1")]


@pytest.mark.slow
def test_a_written_model_is_loaded(tmp_path: Path) -> None:
    found = run_scale("loading", tmp_path / "model", "--concepts", "400")
    assert list(found["steps"]) == ["start", "load", "ranker", "index", "first suggestion"]


def test_an_update_is_the_same_as_encoding_everything(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    figures = run_scale("generate", "400", path)
    assert figures["concepts"] == 400
    found = run_scale("updating", path, "--growth", "0.05")
    assert found["added"] == 20
    assert found["encoded"]["vectors"] < 400
    assert found["largest_difference"] < 1e-5


def test_generated_taxonomies_have_the_shape_of_mag() -> None:
    large = mag_shaped_taxonomy(10_000, seed=1)
    shares = np.bincount(large.parents_of.degrees) / len(large)
    assert shares[1:4] == pytest.approx([0.629, 0.245, 0.092], abs=0.02)
    assert np.bincount(large.levels).tolist() == [1, 12, 3214, 3339, 1710, 1724]
    assert len(set(large.labels)) == len(large)
    vectors = generate_vectors(large, 32, seed=1)
    parents, children = large.relation_indices
    assert (vectors[parents] * vectors[children]).sum(1).mean() > 0.4


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.csv", "child,parent\nfruit,\napple,fruit\n", "child,parent\nfruit,\napple,\n"),
        ("a.txt", "fruit\nfruit > apple\n", "fruit\n"),
        ("a.obo", "format-version: 1.2\n\n[Term]\nid: A:1\nname: a\n", "format-version: 1.2\n"),
        ("a.json", '[{"id": 1, "tags": ["a", "b"]}]', '[{"id": 1, "tags": ["a"]}]'),
    ],
)
def test_other_readers_find_what_is_missing(tmp_path: Path, name: str, old: str, new: str) -> None:
    for place, text in (("old", old), ("new", new), ("same", old)):
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text(text, encoding="utf-8")
    paths = [tmp_path / place / name for place in ("old", "new", "same")]
    assert compare_files(paths[0], paths[1], "paths").missing
    assert compare_files(paths[0], paths[2], "paths").missing == []
