from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.desk.review.desk import EvidenceCache, fill_queue, model_name
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, Decision
from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.report.page import Details
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.known_names import FilteredConcepts

NEW = Concept("n1", "hemp milk")
LISTED = [NEW, Concept("n2", "white tea")]


def new_concepts(concepts: Sequence[Concept]) -> FilteredConcepts:
    return FilteredConcepts(tuple(concepts), (), ())


def test_the_first_proposal_is_explained_in_full(model: TaxoExpan) -> None:
    proposals = model.suggest([NEW]).flat
    found = EvidenceCache(model).explain(NEW, proposals, proposals[0].parent.id)
    assert "It shares the word 'milk'" in found.paragraphs[0]
    assert {"cosine", "shared words", "raw score"} <= {name for name, _ in found.facts}


def test_a_runner_up_is_explained_by_its_similarity(model: TaxoExpan) -> None:
    proposals = model.suggest([NEW]).flat
    other = proposals[1].parent
    found = EvidenceCache(model).explain(NEW, proposals, other.id)
    assert f"'{other.label}'" in found.paragraphs[0]
    assert "runner-up" not in found.paragraphs[0]
    assert "raw score" not in dict(found.facts)


def test_a_parent_that_the_model_does_not_suggest_has_no_reasons(model: TaxoExpan) -> None:
    proposals = model.suggest([NEW]).flat
    suggested = {each.parent.id for each in proposals}
    other = next(id for id in model.taxonomy if id not in suggested)
    assert EvidenceCache(model).explain(NEW, proposals, other) == Details((), ())


def test_many_threads_get_the_same_answers_as_one(model: TaxoExpan) -> None:
    concepts = [Concept(f"n{i}", f"{name} milk") for i, name in enumerate(("soy", "rice", "pea"))]
    proposals = {concept: model.suggest([concept]).flat for concept in concepts}

    def explain(cache: EvidenceCache, concept: Concept) -> Details:
        return cache.explain(concept, proposals[concept], proposals[concept][0].parent.id)

    alone, shared = EvidenceCache(model), EvidenceCache(model)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: explain(shared, each), concepts * 5))
    assert found == [explain(alone, concept) for concept in concepts] * 5


def test_proposals_of_the_same_model_are_not_computed_again(
    model: TaxoExpan, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        assert fill_queue(store, model, "one", new_concepts(LISTED)) == 2
        more = [*LISTED, Concept("n3", "corn bread")]
        assert fill_queue(store, model, "one", new_concepts(more)) == 1
        assert fill_queue(store, model, "one", new_concepts(more)) == 0
        assert fill_queue(store, model, "two", new_concepts(more)) == 3
        found = store.concept("hemp milk")
        assert found is not None
        assert [each.rank for each in found.proposals] == [1, 2, 3, 4, 5]
        assert found.proposals[0].parent.id == "milk"


def test_definitions_of_a_glossary_are_used_but_not_kept(model: TaxoExpan, tmp_path: Path) -> None:
    definitions = {"hemp milk": "a red apple"}
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        fill_queue(store, model, "one", new_concepts(LISTED), definitions)
        found = store.concept("hemp milk")
    assert found is not None
    assert found.concept.definition == ""
    scores = [each.score for each in found.proposals]
    defined = Concept("n1", "hemp milk", (), "a red apple")
    with_definition = [each.score for each in model.suggest([defined]).flat]
    assert scores == pytest.approx(with_definition, rel=1e-3)
    assert scores != pytest.approx(
        [each.score for each in model.suggest(LISTED[:1]).flat], rel=1e-3
    )


def test_a_store_about_another_taxonomy_is_refused(model: TaxoExpan, tmp_path: Path) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        store.add_concepts(LISTED)
        elsewhere = Suggestion(LISTED[0], 0, Concept("Q42", "author"))
        store.append([Decision("hemp milk", Action.ACCEPT, 0, (elsewhere,))], "Ada")
        with pytest.raises(ConfigurationError, match="are about another taxonomy"):
            fill_queue(store, model, "one", new_concepts(LISTED))


def test_proposals_for_another_taxonomy_are_refused_before_any_decision(
    model: TaxoExpan, tmp_path: Path
) -> None:
    elsewhere = Suggestion(LISTED[0], 1, Concept("Q42", "author"), ("person", "author"), 0.9)
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        store.add_concepts(LISTED)
        store.set_proposals("of people", [elsewhere])
        with pytest.raises(ConfigurationError, match=r"the proposals in .* another taxonomy"):
            fill_queue(store, model, "one", new_concepts(LISTED))


@pytest.mark.parametrize(
    "changed",
    [Concept("n1", "hemp milk", (), "a red apple"), Concept("n1", "hemp milk", ("red apple",))],
)
def test_proposals_are_computed_again_for_a_changed_text(
    model: TaxoExpan, tmp_path: Path, changed: Concept
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        fill_queue(store, model, "one", new_concepts(LISTED))
        store.add_concepts([changed])
        store.add_concepts([changed])
        assert store.without_proposals("one", [changed, LISTED[1]]) == [changed]
        assert fill_queue(store, model, "one", new_concepts([changed, LISTED[1]])) == 1
        assert fill_queue(store, model, "one", new_concepts([changed, LISTED[1]])) == 0
        found = store.concept("hemp milk")
    assert found is not None
    expected = [each.score for each in model.suggest([changed]).flat]
    assert [each.score for each in found.proposals] == pytest.approx(expected, rel=1e-3)


def test_the_name_of_a_model_changes_with_its_content(model_directory: Path) -> None:
    name = model_name(model_directory)
    assert name.startswith(f"{model_directory.name} (")
    assert model_name(model_directory, Path("words.tsv")) == f"{name} with words.tsv"
