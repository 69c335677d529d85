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
import small_taxonomies
import torch
from builders import pantry_csv, random_taxonomy
from error_detection import average_precision, plant, precision_at
from recovery import recovery_of
from reference_network import double_precision
from simulated_review import Queue, answer
from small_taxonomies import main, small_subtrees

from benchmarks.independent_readers import compare_files
from benchmarks.per_egonet_network import PlainNetwork, plain_batch
from benchmarks.scale import __main__ as scale
from benchmarks.scale.__main__ import COMMANDS, build_parser
from benchmarks.scale.mag_shaped_taxonomy import generate_vectors, mag_shaped_taxonomy
from taxoexpan import Concept, Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.joint.prior_learning import remove_subtrees
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.sampling import TrainingSampler

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


def test_every_step_of_training_and_ranking_is_measured() -> None:
    found = run_scale("steps", "--concepts", "1200", "2400", "--batches", "1", "--queries", "8")
    assert [each["concepts"] for each in found["sizes"]] == [1_200, 2_400]
    for size in found["sizes"]:
        assert len(size["seconds"]) == 7
        assert all(seconds > 0 for seconds in size["seconds"].values())
        assert size["memory"]["peak"] > 100
    assert len(found["growth"][0]["exponents"]) == 7


def test_every_stage_of_a_training_is_measured() -> None:
    found = run_scale("training", "600", "--device", "cpu", "--held-out", "60")
    stages = {each["stage"] for each in found["stages"]}
    assert {"read the file", "one epoch", "weights of the fusion", "whole training"} <= stages


def test_commands_on_awkward_shapes_end(tmp_path: Path) -> None:
    words = ["--shapes", "chain", "--scale", "0.01", "--new", "3", "--commands", "info,diff"]
    found = run_scale("shapes", tmp_path, *words)
    assert [(each["command"], each["status"]) for each in found] == [("info", "0"), ("diff", "1")]


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


def test_subtrees_are_complete_and_have_no_common_concept() -> None:
    whole = random_taxonomy(5, 200, most_parents=1)
    subtrees = small_subtrees(whole, 4, 3, 12, seed=1)
    for subtree in subtrees:
        (root,) = subtree.roots
        assert set(subtree) == {root, *whole.descendants(root)}
    assert sum(map(len, subtrees)) == len(set().union(*subtrees))


def test_small_taxonomies_prints_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pantry.csv"
    path.write_text(pantry_csv() + "food,all\n", encoding="utf-8")
    monkeypatch.setattr(small_taxonomies, "MIN_SIZE", 80)
    monkeypatch.setattr(small_taxonomies, "MAX_SIZE", 90)
    words = ["--preset", "fast", "--count", "1", "--device", "cpu", "--set", "epochs=2"]
    words += ["--set", "features=static"]
    monkeypatch.setattr(sys, "argv", ["small_taxonomies.py", str(path), *words])
    main()
    output = capsys.readouterr().out
    assert output.startswith("| subtree | concepts | held out | fast |")
    assert "Hit@1: wins" in output


@pytest.mark.parametrize("kind", ["random", "cousin"])
def test_planted_errors_are_wrong_and_nothing_else_changes(kind: str) -> None:
    taxonomy = random_taxonomy(7, 60, most_parents=2)
    planted = plant(taxonomy, 0.2, kind, 0)
    assert planted.wrong
    for parent, child in planted.wrong:
        assert planted.taxonomy.parents(child) == (parent,)
        assert parent not in taxonomy.ancestors(child)
    assert set(planted.taxonomy.relations) - set(taxonomy.relations) == planted.wrong


def test_errors_on_top_have_the_best_precision() -> None:
    doubt, wrong = np.array([3.0, 2.0, 1.0]), np.array([True, True, False])
    assert (average_precision(doubt, wrong), precision_at(2, doubt, wrong)) == (1.0, 1.0)
    assert precision_at(3, doubt, wrong) == pytest.approx(2 / 3)


def test_the_true_placement_recovers_everything() -> None:
    removal = remove_subtrees(random_taxonomy(3, 60), 4, 2, 9, seed=0)
    found = recovery_of(removal.taxonomy, removal.batches, removal.batches)
    assert (found.fractions, found.ancestor_f1) == ((1.0, 1.0, 1.0), 1.0)


def test_the_curator_accepts_true_parents_and_rejects_the_proposals_above_them() -> None:
    taxonomy = Taxonomy([Concept(id, id) for id in "abc"], [("a", "b"), ("a", "c")])
    query = Concept("n", "new")
    proposals = [Suggestion(query, rank, taxonomy.concept(p)) for rank, p in ((1, "a"), (2, "c"))]
    growth = Holdout(taxonomy, (query,), (np.array([taxonomy.index("c")]),))
    feedback = answer(Queue(growth, [proposals]))
    assert [each.parent.id for each in feedback.accepted] == ["c"]
    assert [each.parent.id for each in feedback.rejected] == ["a"]


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
