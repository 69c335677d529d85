"""The order of the rows in a file does not change a result."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from taxoexpan import Concept, Suggestion, TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.evaluation.results import evaluate_methods
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Additions
from taxoexpan.training.holdout import hold_out
from tests.support.builders import random_taxonomy
from tests.support.decisions import Feedback
from tests.support.messy_pantry import QUICK, messy_pantry
from tests.support.small_models import SMALL

NEW = ["cashew milk", "white tea", "barley bread", "plum sauce", "strange thing"]


def shuffled(taxonomy: Taxonomy, seed: int) -> Taxonomy:
    """Return the same taxonomy with its concepts and relations in a random order."""
    generator = random.Random(seed)
    concepts = list(taxonomy.concepts)
    relations = list(taxonomy.relations)
    generator.shuffle(concepts)
    generator.shuffle(relations)
    return Taxonomy(concepts, relations)


def two_orders(taxonomy: Taxonomy) -> tuple[Taxonomy, Taxonomy]:
    """Return the taxonomy in two orders that differ."""
    first, second = shuffled(taxonomy, 1), shuffled(taxonomy, 2)
    assert first.ids != second.ids
    return first, second


def new_model(seed: int = 1) -> TaxoExpan:
    return TaxoExpan("fast", seed, "cpu", **{**SMALL, "epochs": 2, "validation_fraction": 0.4})


def suggested(model: TaxoExpan) -> list[Suggestion]:
    """Return suggestions with everything that they say: parents, scores, confidence and paths."""
    suggestions = model.suggest(NEW, top_k=4).flat
    assert any(suggestion.levels for suggestion in suggestions)
    return suggestions


@pytest.fixture(scope="module")
def foods(pantry: Path) -> Taxonomy:
    """The pantry with some concepts that have two parents."""
    second = (("tea", "green milk"), ("bread", "rye cheese"), ("apple", "red sauce"))
    return read_taxonomy(pantry).expanded(Additions((), second))


@pytest.fixture(scope="module")
def models(foods: Taxonomy) -> list[TaxoExpan]:
    return [new_model().fit(taxonomy) for taxonomy in two_orders(foods)]


def test_a_model_is_the_same_bit_for_bit(models: list[TaxoExpan]) -> None:
    one, other = models
    assert one.taxonomy.ids == other.taxonomy.ids
    assert suggested(one) == suggested(other)
    batches = [model.suggest_together([*NEW, "white milk"]).flat for model in models]
    assert batches[0] == batches[1]
    grown = [model.expand(NEW, min_confidence=0) for model in models]
    assert grown[0] == grown[1]


@pytest.mark.parametrize("suffix", [pytest.param(".csv", marks=pytest.mark.slow), ".nt"])
def test_lines_of_a_file_may_have_any_order(suffix: str, foods: Taxonomy, tmp_path: Path) -> None:
    skos = "http://www.w3.org/2004/02/skos/core#"
    iris = {id: f"<http://example.org/{id.replace(' ', '_')}>" for id in foods}
    lines = {
        ".csv": [f"{child},{parent}" for parent, child in foods.relations],
        ".nt": [
            *(f'{iris[c.id]} <{skos}prefLabel> "{c.label}"@en .' for c in foods.concepts),
            *(f'{iris[c.id]} <{skos}altLabel> "my {c.label}"@en .' for c in foods.concepts),
            *(f'{iris[c.id]} <{skos}altLabel> "a {c.label}"@en .' for c in foods.concepts),
            *(
                f"{iris[child]} <{skos}broader> {iris[parent]} ."
                for parent, child in foods.relations
            ),
        ],
    }[suffix]
    results = []
    for seed in (1, 2):
        random.Random(seed).shuffle(lines)
        path = tmp_path / f"{seed}{suffix}"
        header = ["child,parent"] if suffix == ".csv" else []
        path.write_text("\n".join([*header, *lines]) + "\n", encoding="utf-8")
        results.append(suggested(new_model().fit(read_taxonomy(path))))
    assert results[0] == results[1]


def test_continued_training_and_updates_are_the_same(
    foods: Taxonomy, models: list[TaxoExpan], tmp_path: Path
) -> None:
    newer = foods.expanded(
        Additions((Concept("rice milk", "rice milk"),), (("milk", "rice milk"),))
    )
    first = [model.suggest(["hazelnut milk"], top_k=2).flat for model in models]
    results = []
    for model, order, suggestions in zip(models, two_orders(newer), first, strict=True):
        model.save(tmp_path / "model", force=True)
        updated = TaxoExpan.load(tmp_path / "model")
        updated.update(order)
        refitted = TaxoExpan.load(tmp_path / "model")
        refitted.refit(order, Feedback(accepted=(suggestions[0],), rejected=(suggestions[1],)))
        results.append((suggested(updated), suggested(refitted)))
    assert results[0] == results[1]


def test_an_explicit_holdout_may_have_any_order(foods: Taxonomy) -> None:
    leaves = sorted(foods.leaves)[::2]
    results = []
    for order in two_orders(foods):
        holdout = hold_out(order, leaves)
        model = new_model().fit(order, holdout)
        results.append((suggested(model), [ranks.tolist() for ranks in model.true_ranks(holdout)]))
    assert results[0] == results[1]


def test_an_evaluation_is_the_same(foods: Taxonomy) -> None:
    def ranks(old: Taxonomy, new: Taxonomy) -> list[list[float]]:
        growth = growth_between(old, new)
        found = evaluate_methods(growth.queries, {"model": new_model()}, StaticEncoder())
        return [own.tolist() for own in found["model"].ranks]

    leaves = sorted(foods.leaves)[::5]
    old = foods.without(leaves)
    pairs = zip(two_orders(old), two_orders(foods), strict=True)
    results = [ranks(*releases) for releases in pairs]
    assert len(results[0]) == len(leaves)
    assert results[0] == results[1]


def test_a_cleaning_is_the_same() -> None:
    one, other = (clean(order, QUICK, folds=2) for order in two_orders(messy_pantry()))
    assert one == other


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "view", [lambda t: t, lambda t: t.active, lambda t: t.without([t.ids[3], t.ids[7]])]
)
def test_the_canonical_order_does_not_depend_on_the_given_one(
    seed: int, view: Callable[[Taxonomy], Taxonomy]
) -> None:
    taxonomy = random_taxonomy(seed, 40)
    one, other = (shuffled(view(taxonomy), order).canonical for order in (1, 2))
    assert one == view(taxonomy)
    assert one.ids == other.ids == tuple(sorted(view(taxonomy).ids))
    assert list(one.concepts) == list(other.concepts)
    assert list(one.relations) == list(other.relations)
    assert [one.children(id) for id in one] == [other.children(id) for id in one]
    assert one.canonical is one
