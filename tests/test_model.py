from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from copy import copy, deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from taxoexpan import Concept, TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.archive import load_archive
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.explain import describe
from taxoexpan.explain.explanation import query_blocks
from taxoexpan.placement.scoring.pair_features import Signal
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.training.continuation import Recipe
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_leaves
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.metrics import compute_metrics
from taxoexpan.training.record import Epoch, TrainingRecord
from tests.support.builders import KINDS, SORTS, own, pantry_csv
from tests.support.ctrl_c import press_ctrl_c
from tests.support.decisions import Feedback, expanded
from tests.support.expanded_files import write_file
from tests.support.messy_pantry import large_pantry
from tests.support.small_models import SMALL


def weights_of(model: TaxoExpan) -> dict[str, torch.Tensor]:
    return model._fitted().network.state_dict()


def test_new_kinds_of_known_things_find_their_parents(model: TaxoExpan) -> None:
    names = ["cashew milk", "white tea", "tomato soup", "barley bread"]
    best = {s.query.label: s.parent.label for s in model.suggest(names, top_k=1).flat}
    assert best == {
        "cashew milk": "milk",
        "white tea": "tea",
        "tomato soup": "soup",
        "barley bread": "bread",
    }


def test_blocks_give_the_suggestions_of_the_whole_list(
    model: TaxoExpan, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = ["cashew milk", "white tea", "tomato soup", "barley bread", "pea milk"]
    concepts = [Concept(f"new {i}", label) for i, label in enumerate(labels)]
    monkeypatch.setattr("taxoexpan.explain.explanation.QUERY_BLOCK", 2)
    for explain in (False, True):
        blocks = [
            model.suggest_block(each, SuggestOptions(top_k=3, explain=explain))
            for each in query_blocks(concepts)
        ]
        suggestions = [suggestion for block in blocks for suggestion in block.suggestions]
        whole = model.suggest(concepts, 3, explain).flat
        # The last bits of a score depend on the queries that are scored together.
        both = [
            [replace(s, score=0.0, confidence=None, levels=()) for s in each]
            for each in (suggestions, whole)
        ]
        assert both[0] == both[1]
        assert [s.levels for s in suggestions] == [pytest.approx(s.levels, rel=1e-3) for s in whole]
        assert [s.score for s in suggestions] == pytest.approx([s.score for s in whole], rel=1e-4)
        assert [len(block.evidence) for block in blocks] == ([2, 2, 1] if explain else [0, 0, 0])


def test_deprecated_concepts_are_neither_learned_from_nor_parents(tmp_path: Path) -> None:
    lines = pantry_csv().splitlines()[1:]
    rows = [f"{child},{child},{parent}," for child, parent in (line.split(",") for line in lines)]
    rows += ["old milk,old milk,food,yes", "oat drink,oat drink,old milk,yes"]
    path = tmp_path / "pantry.csv"
    path.write_text("id,label,parents,deprecated\n" + "\n".join(rows) + "\n", encoding="utf-8")
    settings = SMALL | {"epochs": 2}
    model = TaxoExpan("fast", seed=1, device="cpu", **settings).fit(read_taxonomy(path))
    suggested = model.suggest(["old cashew milk"], top_k=1000).flat
    assert {s.parent.id for s in suggested} == set(read_taxonomy(path).active)
    model.save(tmp_path / "model")
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.taxonomy == model.taxonomy
    assert len(loaded.suggest(["old cashew milk"], top_k=1000).flat) == len(suggested)
    with pytest.warns(UserWarning, match="'oat drink' is already in the taxonomy"):
        assert loaded.suggest(["oat drink"]).flat == []


def test_deprecated_concepts_change_no_suggestion(pantry: Path) -> None:
    plain = read_taxonomy(pantry)
    old = [Concept(f"old {i}", f"old {name}", deprecated=True) for i, name in enumerate("xyz")]
    relations = [("milk", "old 0"), ("old 0", "tea"), ("oat milk", "old 1"), ("bread", "old 2")]
    both = Taxonomy([*plain.concepts, *old], [*plain.relations, *relations])
    settings = SMALL | {"epochs": 2}
    alone, mixed = (
        TaxoExpan("fast", device="cpu", **settings).fit(taxonomy) for taxonomy in (plain, both)
    )
    one, other = (each.suggest(["cashew milk", "white tea"], 8).flat for each in (alone, mixed))
    assert [s.parent.id for s in one] == [s.parent.id for s in other]
    assert [s.score for s in one] == pytest.approx([s.score for s in other], rel=1e-3)


def test_the_same_seed_gives_the_same_model_bit_for_bit(pantry: Path) -> None:
    taxonomy = read_taxonomy(pantry)
    one, same, other = (
        TaxoExpan("fast", seed=seed, device="cpu", **{**SMALL, "epochs": 2}).fit(taxonomy)
        for seed in (7, 7, 8)
    )
    assert all(torch.equal(w, weights_of(same)[name]) for name, w in weights_of(one).items())
    assert not torch.equal(weights_of(one)["match.weight"], weights_of(other)["match.weight"])
    first, second = (m.suggest(["cashew milk"], top_k=90).flat for m in (one, same))
    assert first == second


@pytest.mark.slow
def test_the_order_of_sets_does_not_change_a_model(tiny_transformer: Path, tmp_path: Path) -> None:
    words = ["oat", "green", "goat", "rye", "red", "chili", "blue"]
    lines = ["child,parent", "food,", *(f"{kind},food" for kind in KINDS)]
    for number, kind in enumerate(KINDS * 8):
        first = number * 3 % 7
        label = " ".join([*(words + words)[first : first + 3 + number % 4], SORTS[number % 10]])
        lines.append(f"{label} {kind},{kind}")
    taxonomy = write_file(tmp_path / "long labels.csv", "\n".join(dict.fromkeys(lines)) + "\n")
    program = """
import sys
from pathlib import Path
from taxoexpan import TaxoExpan, read_taxonomy

source, transformer, target = map(Path, sys.argv[1:])
settings = {"epochs": 1, "tower_epochs": 1, "hidden_dim": 8, "embedding_dim": 16}
features = f"static+transformer:{transformer}"
model = TaxoExpan("best", device="cpu", features=features, **settings).fit(read_taxonomy(source))
model.save(target)
print([*model.calibrators.fusion.weights])
print(model.suggest(["red goat rye lentil blue soup", "black chili oat green tea"], 30).flat)
"""
    results = []
    for seed in "12":
        target = tmp_path / seed
        run = subprocess.run(
            [sys.executable, "-c", program, taxonomy, tiny_transformer, target],
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        tensors = {path.name: path.read_bytes() for path in sorted(target.glob("*.safetensors"))}
        results.append((run.stdout, tensors))
    assert len(results[0][1]) >= 3
    assert results[0] == results[1]


def test_training_leaves_the_callers_rng_alone(pantry: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    TaxoExpan("fast", device="cpu", **{**SMALL, "epochs": 1}).fit(read_taxonomy(pantry))
    assert torch.equal(torch.rand(2), expected)


def test_suggestions_have_ranks_and_paths(model: TaxoExpan) -> None:
    suggestions = model.suggest(["cashew milk", "white tea"], top_k=3).flat
    assert [s.rank for s in suggestions] == [1, 2, 3, 1, 2, 3]
    assert suggestions[0].path == ("food", "milk")
    assert suggestions[0].score >= suggestions[1].score >= suggestions[2].score > 0


def test_a_known_name_is_not_placed_again(model: TaxoExpan) -> None:
    with pytest.warns(UserWarning, match="'Oat-Milk' is already in the taxonomy"):
        assert model.suggest(["Oat-Milk"]).flat == []


def test_a_name_that_is_given_twice_is_placed_once(model: TaxoExpan) -> None:
    with pytest.warns(UserWarning, match="'Cashew-Milk' is given more than once"):
        found = model.suggest(["cashew milk", "Cashew-Milk"], top_k=1).flat
    assert [s.query.label for s in found] == ["cashew milk"]


@pytest.mark.parametrize("together", [False, True])
def test_a_label_without_words_is_placed_with_a_warning(model: TaxoExpan, together: bool) -> None:
    labels = ["\N{EM DASH}", "cashew milk"]
    with pytest.warns(UserWarning, match="'\N{EM DASH}' has no letter or digit"):
        found = model.suggest_together(labels).flat if together else model.suggest(labels, 1).flat
    assert [s.query.label for s in found] == labels


def test_expanding_keeps_every_old_concept_and_relation(model: TaxoExpan) -> None:
    expanded = model.expand(["cashew milk", Concept("own-id", "white tea")], top_k=1)
    assert set(model.taxonomy.concepts) < set(expanded.concepts)
    assert set(model.taxonomy.relations) < set(expanded.relations)
    assert expanded.parents("cashew milk") == ("milk",)
    assert expanded.parents("own-id") == ("tea",)


def test_a_saved_model_suggests_the_same(model: TaxoExpan, model_directory: Path) -> None:
    loaded = TaxoExpan.load(model_directory, device="cpu")
    names = ["cashew milk", "quince", "豆乳"]
    assert loaded.suggest(names).flat == model.suggest(names).flat
    assert loaded.taxonomy == model.taxonomy
    assert loaded.training == model.training


def test_vectors_of_concepts_need_no_training(pantry: Path) -> None:
    taxonomy, untrained = read_taxonomy(pantry), TaxoExpan(features="static")
    vectors = untrained.embed(taxonomy.concepts)
    assert vectors.shape == (len(taxonomy), 256)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    cosines = vectors @ untrained.embed([Concept("", "Oat Milk")])[0]
    assert taxonomy.labels[int(cosines.argmax())] == "oat milk"


def test_a_concept_with_unknown_words_has_the_vector_zero(tmp_path: Path) -> None:
    path = write_file(tmp_path / "few.vec", "1 3\nmilk 1 2 2\n")
    vectors = TaxoExpan(features=f"vectors:{path}").embed(["milk", "zzzz"])
    np.testing.assert_allclose(vectors, [[1 / 3, 2 / 3, 2 / 3], [0, 0, 0]], atol=1e-6)


def test_a_saved_model_has_its_vectors(model: TaxoExpan, model_directory: Path) -> None:
    saved = TaxoExpan.load(model_directory, "cpu")
    assert np.array_equal(saved.embed(["rice milk"]), model.embed(["rice milk"]))


def test_evaluation_uses_the_metrics_of_the_paper(model: TaxoExpan) -> None:
    holdout = hold_out_leaves(model.taxonomy, 0.2, 100, seed=5)
    figures = model.evaluate(holdout)
    assert figures.queries == len(holdout.concepts)
    assert figures.hit_at_1 > 0.5
    assert 1 <= figures.mr <= len(holdout.taxonomy)


def test_true_ranks_are_those_in_the_remaining_taxonomy(model: TaxoExpan) -> None:
    holdout = hold_out_leaves(model.taxonomy, 0.2, 100, seed=5)
    ranks = model.true_ranks(holdout)
    assert [len(own) for own in ranks] == [len(parents) for parents in holdout.parents]
    assert compute_metrics(ranks) == model.evaluate(holdout)


def test_the_own_taxonomy_ranks_like_a_copy_of_it(model: TaxoExpan) -> None:
    own = model.taxonomy
    copy = Taxonomy(own.concepts, own.relations)
    concepts, parents = (Concept("q", "cashew milk"),), (np.array([own.index("milk")]),)
    ranks = [model.true_ranks(Holdout(each, concepts, parents)) for each in (own, copy)]
    assert [each[0].tolist() for each in ranks] == [[1.0], [1.0]]


@pytest.mark.parametrize("text", ["one\n", "a\nb\n"])
def test_a_taxonomy_that_is_too_small_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tiny.csv"
    path.write_text("label,parents\n" + "".join(f"{line},\n" for line in text.split()))
    with pytest.raises(ModelError, match="needs at least 3 concepts and 2 relations"):
        TaxoExpan("fast", device="cpu", features="static").fit(read_taxonomy(path))


def test_the_smallest_taxonomy_trains_without_validation() -> None:
    taxonomy = Taxonomy([Concept(i, i) for i in "abc"], [("a", "b"), ("a", "c")])
    model = TaxoExpan("fast", device="cpu", **{**SMALL, "epochs": 2}).fit(taxonomy)
    assert model.history is not None
    assert model.history.best_epoch.validation is None
    assert len(model.suggest(["d"], top_k=5).flat) == 3


def test_ctrl_c_keeps_the_best_weights_so_far(
    pantry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_: TrainingLog, epoch: Epoch, __: bool) -> None:
        if epoch.number == 3:
            press_ctrl_c()

    monkeypatch.setattr(TrainingLog, "write", write)
    model = TaxoExpan("fast", device="cpu", **SMALL).fit(read_taxonomy(pantry))
    assert model.history is not None
    assert model.history.interrupted
    assert 1 <= model.history.best <= len(model.history.epochs) <= 3
    assert len(model.suggest(["cashew milk"], top_k=1).flat) == 1


def test_an_untrained_model_is_refused() -> None:
    with pytest.raises(ModelError, match="call fit, or load a trained one"):
        TaxoExpan("fast", device="cpu").suggest(["tea"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preset": "huge"}, "no preset is called 'huge'; choose one of best, fast, thorough"),
        *(({"seed": seed}, "seed is") for seed in ("a", None, 1.5, True, -1)),
        ({"colour": "red"}, "no setting is called 'colour'"),
        ({"features": "bert"}, "there are no features 'bert'"),
        ({"device": "abacus"}, "the device 'abacus' cannot be used here"),
    ],
)
def test_a_wrong_setting_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        TaxoExpan(**arguments)  # type: ignore[arg-type]  # the misuse is the point


@pytest.mark.parametrize(
    "variant",
    [
        {"propagation": "gcn", "readout": "mean", "matching": "mlp", "loss": "bce"},
        {"propagation": "pgcn", "readout": "concat", "matching": "mlp"},
        {
            "propagation": "gat",
            "readout": "concat",
            "quirks": {"egonet_concat": True},
            "num_layers": 2,
        },
        {"matching": "mlp", "quirks": {"mlp_relu": True}, "num_output_heads": 2, "num_layers": 0},
    ],
)
def test_every_part_of_the_network_can_be_exchanged(
    pantry: Path, tmp_path: Path, variant: dict[str, object]
) -> None:
    settings = {**SMALL, "epochs": 4, "validation_fraction": 0.1, **variant}
    model = TaxoExpan("fast", device="cpu", **settings).fit(read_taxonomy(pantry))
    losses = [epoch.loss for epoch in model.history.epochs] if model.history else []
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model")
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.suggest(["cashew milk"]).flat == model.suggest(["cashew milk"]).flat


def test_the_preset_of_the_paper_trains(pantry: Path) -> None:
    model = TaxoExpan("paper", device="cpu", epochs=1, num_negatives=16).fit(read_taxonomy(pantry))
    assert model.config.hidden_dim == 250
    assert len(model.suggest(["cashew milk"], top_k=2).flat) == 2


def test_fit_refuses_what_is_not_a_taxonomy() -> None:
    with pytest.raises(ConfigurationError, match="read_taxonomy"):
        TaxoExpan().fit("topics.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("top_k", [True, "x", 1.5])
def test_a_wrong_number_of_parents_is_refused(model: TaxoExpan, top_k: object) -> None:
    with pytest.raises(ConfigurationError, match="top_k"):
        model.expand(["nut milk"], top_k=top_k)  # type: ignore[arg-type]


def test_concepts_below_the_threshold_are_left_out_with_a_warning(model: TaxoExpan) -> None:
    with pytest.warns(UserWarning, match="2 concepts left out: not sure enough"):
        same = model.expand(["nut milk", "white tea"], min_score=1)
    assert same == model.taxonomy
    grown = model.expand(["nut milk", "white tea"], min_confidence=0)
    assert len(grown) == len(model.taxonomy) + 2


def test_by_default_a_calibrated_model_adds_what_is_more_likely_right_than_wrong() -> None:
    settings = {**SMALL, "validation": "leaves", "validation_fraction": 0.35}
    model = TaxoExpan("fast", seed=1, device="cpu", **settings).fit(large_pantry())
    labels = ["yak cheese", "rice milk", "gadget", "steam locomotive"]
    first = [s for s in model.suggest(labels).flat if s.rank == 1]
    good = {s.query.label for s in first if (s.confidence or 0) >= 0.5 and s.place != "none"}
    assert len(good) < len(labels)
    with pytest.warns(UserWarning, match="left out"):
        grown = model.expand(labels)
    assert set(grown.labels) - set(model.taxonomy.labels) == good


@pytest.mark.parametrize("concepts", ["", [""], [" "], [1], [None], None, {"a": 1}, 3])
def test_a_wrong_list_of_concepts_is_refused(model: TaxoExpan, concepts: object) -> None:
    with pytest.raises(ConfigurationError):
        model.suggest(concepts)  # type: ignore[arg-type]


def test_an_empty_holdout_cannot_be_evaluated(model: TaxoExpan) -> None:
    with pytest.raises(ModelError, match="nothing is held out"):
        model.evaluate(hold_out_leaves(model.taxonomy, 0.0, 0, 0))


def made_up(count: int = 12) -> Taxonomy:
    """Kinds with meaningless names, and children that only their definitions place."""
    letters = "bcdfghklmnprstvz"
    kinds = [f"{letters[i]}o{letters[-1 - i]}u" for i in range(count)]
    concepts = [Concept("root", "all", definition="what there is")]
    concepts += [Concept(kind, kind, definition="a thing") for kind in kinds]
    relations = [("root", kind) for kind in kinds]
    for k, kind in enumerate(kinds):
        for n in range(8):
            name = f"{letters[n]}a{letters[(k + n) % 16]}i"
            definition = f"a {['big', 'old', 'thin', 'loud'][n % 4]} {kind} of the north"
            concepts.append(Concept(f"{kind}-{n}", name, definition=definition))
            relations.append((kind, f"{kind}-{n}"))
    return Taxonomy(concepts, relations)


def test_a_definition_that_mentions_its_genus_is_used(tmp_path: Path) -> None:
    model = TaxoExpan(
        "fast",
        seed=0,
        device="cpu",
        features="static",
        use_mentions=True,
        epochs=6,
        batch_size=8,
        num_negatives=32,
        definition_weight=0.0,
    ).fit(made_up())
    model.save(tmp_path / "model")
    defined, bare = Concept("", "wuwu", definition="a small bozu"), Concept("", "wuwu")
    for one in (model, TaxoExpan.load(tmp_path / "model", device="cpu")):
        scores = [
            next(s.score for s in one.suggest([concept], top_k=200).flat if s.parent.id == "bozu")
            for concept in (defined, bare)
        ]
        assert scores[0] > 1.5 * scores[1]


def test_mentions_are_used_by_default_where_there_are_definitions(
    pantry: Path, tmp_path: Path
) -> None:
    quick: dict[str, Any] = {"preset": "fast", "device": "cpu", "features": "static", "epochs": 1}
    model = TaxoExpan(**quick)
    assert model.config.use_mentions == "auto"
    assert model.fit(made_up()).config.use_mentions is True
    model.save(tmp_path / "model")
    loaded = TaxoExpan.load(tmp_path / "model", device="cpu")
    assert loaded.config.use_mentions is True
    concept = Concept("", "wuwu", definition="a small bozu")
    scores = [[s.score for s in one.suggest([concept]).flat] for one in (model, loaded)]
    assert scores[0] == scores[1]
    # The same object decides again for another taxonomy.
    assert model.fit(read_taxonomy(pantry)).config.use_mentions is False
    assert TaxoExpan(**quick, use_mentions=False).fit(made_up()).config.use_mentions is False


def test_a_batch_is_placed_together_in_any_order(model: TaxoExpan) -> None:
    names = ["nut milk", "hazel nut milk", "white tea", "plum sauce"]
    concepts = [Concept(f"new-{place}", name) for place, name in enumerate(names)]
    placed = {s.query.id: s for s in model.suggest_together(concepts).flat}
    again = {s.query.id: s for s in model.suggest_together(concepts[::-1]).flat}
    assert placed == again
    known = {*model.taxonomy, *placed}
    assert all(s.parent.id in known for s in placed.values())
    for start in placed:
        line = [start]
        while line[-1] in placed:
            line.append(placed[line[-1]].parent.id)
            assert len(line) <= len(placed) + 1
    grown, _ = expanded(model.taxonomy, list(placed.values()))
    assert len(grown) == len(model.taxonomy) + len(names)
    assert model.suggest_together([]).flat == []


def test_labels_can_be_given_instead_of_concepts(model: TaxoExpan) -> None:
    by_name, by_concept = (
        model.suggest([c], 1).flat for c in ("nut milk", Concept("", "nut milk"))
    )
    assert [s.parent.id for s in by_name] == [s.parent.id for s in by_concept]
    assert model.suggest_with_evidence(["nut milk"], 1)[1][0].query.label == "nut milk"
    assert model.suggest_together(["nut milk"]).flat[0].query.label == "nut milk"
    for ask in (model.suggest, model.suggest_together):
        assert ask("nut milk").flat == ask(["nut milk"]).flat


def test_explained_suggestions_say_why(model: TaxoExpan) -> None:
    plain, explained = (model.suggest(["nut milk"], 2, explain=e).flat for e in (False, True))
    suggestions, (evidence,) = model.suggest_with_evidence(["nut milk"], 2)
    assert suggestions == explained
    assert [replace(s, why="") for s in explained] == plain
    assert explained[0].why == describe(evidence)
    assert [s.why for s in explained[1:]] == [""]


def test_a_loaded_model_with_joint_priors_does_not_learn_them_again(
    model: TaxoExpan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["nut milk", "hazel nut milk", "white tea"]
    expected = model.suggest_together(names).flat
    model.save(tmp_path / "model")
    loaded = TaxoExpan.load(tmp_path / "model", device="cpu")
    monkeypatch.setattr(TaxoExpan, "fit_joint_prior", None)
    assert loaded.suggest_together(names).flat == expected


def test_the_training_record_is_stored_as_json(model: TaxoExpan) -> None:
    record = model.training.as_dict()
    assert list(record)[:4] == ["concepts", "relations", "taxonomy_sha256", "encoder"]
    assert TypeAdapter(TrainingRecord).validate_json(json.dumps(record)) == model.training


@pytest.mark.slow
def test_a_model_with_a_fine_tuned_encoder_ranks_known_concepts_and_batches(
    tuned_model: TaxoExpan,
) -> None:
    assert tuned_model.tower_history is not None
    assert len(tuned_model.tower_history.epochs) == 2
    assert not tuned_model.training.interrupted
    first = tuned_model.suggest(["cashew milk"], 1).flat[0]
    assert first.parent.label == "milk"
    holdout = hold_out(tuned_model.taxonomy, ["oat milk", "rye bread"])
    assert tuned_model.evaluate(holdout).queries == 2
    one, other = (
        {s.query.label: (s.parent.label, round(s.score, 4)) for s in suggestions}
        for suggestions in (
            tuned_model.suggest_together(["nut", "cashew nut", "almond nut"]).flat,
            tuned_model.suggest_together(["almond nut", "nut", "cashew nut"]).flat,
        )
    )
    assert one == other
    assert tuned_model.suggest([]).flat == []


@pytest.mark.slow
def test_a_model_with_a_fine_tuned_encoder_can_be_fitted_again(
    tuned_model: TaxoExpan, pantry: Path
) -> None:
    taxonomy, settings = read_taxonomy(pantry), tuned_model.config.model_dump(exclude={"quirks"})
    again = TaxoExpan("best", seed=1, device="cpu", **settings)
    smaller = taxonomy.without([f"oat {kind}" for kind in ("milk", "tea", "bread")])
    for each in (smaller, taxonomy):
        again.fit(each)
    assert again.suggest(["cashew milk"], 5).flat == tuned_model.suggest(["cashew milk"], 5).flat


@pytest.mark.parametrize("map_epochs", [0, 2])
def test_without_fine_tuning_the_tower_is_the_encoder_with_maps(
    pantry: Path, tiny_transformer: Path, tmp_path: Path, map_epochs: int
) -> None:
    settings = SMALL | {"features": f"transformer:{tiny_transformer}", "epochs": 1}
    model = TaxoExpan("best", device="cpu", map_epochs=map_epochs, **settings)
    model.fit(read_taxonomy(pantry)).save(tmp_path / "model")
    assert model.tower_history is None
    assert model._tower is not None
    assert model._tower.tuned is None
    assert (model._tower.maps is not None) == (tmp_path / "model/tower.safetensors").exists()
    assert (model._tower.maps is not None) == bool(map_epochs)
    assert model.calibrators.fusion is not None
    assert Signal.TOWER in model.calibrators.fusion.signals
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    assert loaded.suggest(["cashew milk"], 5).flat == model.suggest(["cashew milk"], 5).flat


def test_without_fusion_there_is_no_tower(pantry: Path, tiny_transformer: Path) -> None:
    settings = SMALL | {"features": f"transformer:{tiny_transformer}", "epochs": 1}
    model = TaxoExpan("best", device="cpu", learn_fusion=False, **settings)
    assert model.fit(read_taxonomy(pantry))._tower is None


@pytest.mark.parametrize(
    "method", ["suggest", pytest.param("suggest_together", marks=pytest.mark.slow)]
)
def test_scores_that_are_not_finite_name_the_model(method: str, model_directory: Path) -> None:
    archive = load_archive(model_directory, device="cpu")
    damaged = replace(archive, keys=torch.full_like(archive.keys, float("nan")))
    message = "the model gives scores that are NaN or infinite, so its weights are damaged; train"
    for start, each in (
        (message, replace(damaged, directory=None)),
        (f"{model_directory}: {message}", damaged),
    ):
        with pytest.raises(ModelError, match=f"^{re.escape(start)}"):
            getattr(TaxoExpan.from_archive(each, "cpu"), method)(["cashew tea"])


@pytest.mark.parametrize("fixture", ["model", "tuned_model"])
def test_each_concept_is_placed_as_if_it_were_the_only_one(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    model: TaxoExpan = request.getfixturevalue(fixture)
    concepts = [Concept("", "cashew milk"), Concept("own", "oat milk"), Concept("", "cashew milk")]
    first, known, again = model.suggest_each(concepts, SuggestOptions(top_k=3, explain=True))
    alone = model.suggest(["cashew milk"], 3, explain=True).flat
    assert [(s.parent, s.rank, s.kind, s.why) for s in first] == [
        (s.parent, s.rank, s.kind, s.why) for s in alone
    ]
    assert [s.score for s in first] == pytest.approx([s.score for s in alone], rel=1e-4)
    assert [s.parent for s in again] == [s.parent for s in first]
    assert {s.query for s in known} == {concepts[1]}
    assert model.suggest_each([]) == []


def test_what_was_rejected_is_not_suggested_again(model: TaxoExpan, tmp_path: Path) -> None:
    refitted, best = copy(model), model.suggest(["tomato soup"], top_k=2).flat
    feedback = Feedback(rejected=[own("Tomato  soup", s.parent.id) for s in best])
    recipe = Recipe(epochs=1)
    refitted.refit(model.taxonomy, feedback, recipe=recipe)
    refitted.save(tmp_path / "model")
    loaded = TaxoExpan.load(tmp_path / "model", "cpu")
    for each in (refitted, loaded):
        suggested, evidence = each.suggest_with_evidence(["tomato soup", "barley bread"], top_k=90)
        parents = {s.parent.id for s in suggested if s.query.label == "tomato soup"}
        assert not parents & {s.parent.id for s in best}
        assert len(parents) == len(model.taxonomy) - 2
        ranks = [s.rank for s in suggested if s.query.label == "tomato soup"]
        assert ranks == list(range(1, len(ranks) + 1))
        assert len(evidence[0].suggestions) == len(parents)
    # They stay rejected when the training continues once more.
    loaded.refit(model.taxonomy, Feedback(rejected=[own("red lentil", "soup")]), recipe=recipe)
    (again,) = loaded.suggest(["tomato soup"], top_k=1).flat
    assert again.parent.id not in {s.parent.id for s in best}
    loaded.fit(model.taxonomy)  # but a new training starts without decisions
    assert not loaded._fitted().rejections


def test_if_all_parents_are_rejected_nothing_is_suggested(model: TaxoExpan) -> None:
    refitted = copy(model)
    all_parents = [own("tomato soup", id) for id in model.taxonomy]
    refitted.refit(model.taxonomy, Feedback(rejected=all_parents), recipe=Recipe(epochs=1))
    suggested = refitted.suggest(["tomato soup", "barley bread"]).flat
    assert {s.query.label for s in suggested} == {"barley bread"}


def test_accepted_concepts_are_known_and_become_parents(model: TaxoExpan) -> None:
    refitted = copy(model)
    feedback = Feedback([own("fermented", "food")])
    judged = refitted.refit(model.taxonomy, feedback, recipe=Recipe(epochs=1))
    assert judged.placed == ("new:fermented",)
    with pytest.warns(UserWarning, match="'Fermented' is already in the taxonomy"):
        assert refitted.suggest(["Fermented"]).flat == []
    parents = {s.parent.label for s in refitted.suggest(["fermented fermented"], top_k=90).flat}
    assert "fermented" in parents


def test_similar_names_come_first_also_if_concepts_are_placed_together(model: TaxoExpan) -> None:
    for suggestions in (
        model.suggest(["Oat milks"], 2).flat,
        model.suggest_together(["Oat milks"]).flat,
    ):
        first, second = suggestions[:2]
        assert (first.kind, first.parent.label) == ("similar", "oat milk")
        assert (first.rank, second.rank, first.confidence) == (1, 2, None)
        assert "'Oat milks' and 'oat milk' differ only in singular and plural" in first.why
    with pytest.warns(UserWarning, match="1 concept left out: similar to an existing concept"):
        assert model.expand(["Oat milks"], min_confidence=0) == model.taxonomy


def test_a_holdout_of_another_taxonomy_is_refused(model: TaxoExpan) -> None:
    with pytest.raises(ModelError, match="another taxonomy"):
        model.evaluate(hold_out_leaves(Taxonomy.example("food"), 0.01))


@pytest.mark.parametrize("wrong", [None, "path", ["a"], Taxonomy([])])
def test_arguments_of_other_types_are_refused(model: TaxoExpan, wrong: Any) -> None:
    known = model.taxonomy
    calls = [lambda: model.evaluate(wrong), lambda: model.suggest("x", explain=wrong)]
    if wrong is not None:
        calls += [
            lambda: model.fit(known, wrong),
            lambda: model.fit(known, progress=wrong),
            lambda: model.refit(known, wrong),
        ]
    if not isinstance(wrong, Taxonomy):
        calls += [lambda: model.update(wrong), lambda: model.refit(wrong)]
    if not isinstance(wrong, str):
        calls += [lambda: model.save(wrong), lambda: TaxoExpan.load(wrong)]
    for call in calls:
        with pytest.raises(ConfigurationError):
            call()


def test_numbers_of_numpy_are_numbers(model: TaxoExpan) -> None:
    assert len(model.suggest("nut milk", top_k=np.int64(2))[0]) == 2  # type: ignore[arg-type]


def test_a_model_is_copied_by_copy_only(model: TaxoExpan) -> None:
    with pytest.raises(ModelError, match="deeply"):
        deepcopy(model)


def test_a_checkpoint_of_a_training_without_epochs_has_no_effect(tmp_path: Path) -> None:
    records = [{"label": label, "parent": "food"} for label in ("tea", "milk", "soup")]
    taxonomy = Taxonomy.from_records(records)
    with pytest.warns(UserWarning, match="checkpoint has no effect"):
        TaxoExpan("fast", device="cpu").fit(taxonomy, checkpoint=tmp_path / "checkpoint")
