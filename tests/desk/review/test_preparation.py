from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.desk.review.preparation import fill_queue, model_name
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.records import Action, Decision
from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept

NEW = [Concept("n1", "hemp milk"), Concept("n2", "white tea")]


def test_proposals_of_the_same_model_are_not_computed_again(
    model: TaxoExpan, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        assert fill_queue(store, model, "one", NEW) == 2
        more = [*NEW, Concept("n3", "corn bread")]
        assert fill_queue(store, model, "one", more) == 1
        assert fill_queue(store, model, "one", more) == 0
        assert fill_queue(store, model, "two", more) == 3
        found = store.concept("hemp milk")
        assert found is not None
        assert [each.rank for each in found.proposals] == [1, 2, 3, 4, 5]
        assert found.proposals[0].parent.id == "milk"


def test_definitions_of_a_glossary_are_used_but_not_kept(model: TaxoExpan, tmp_path: Path) -> None:
    defined = {"n1": Concept("n1", "hemp milk", (), "a red apple")}
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        fill_queue(store, model, "one", NEW, defined)
        found = store.concept("hemp milk")
    assert found is not None
    assert found.concept.definition == ""
    scores = [each.score for each in found.proposals]
    with_definition = [each.score for each in model.suggest([defined["n1"]])]
    assert scores == pytest.approx(with_definition, rel=1e-3)
    assert scores != pytest.approx([each.score for each in model.suggest(NEW[:1])], rel=1e-3)


def test_a_store_about_another_taxonomy_is_refused(model: TaxoExpan, tmp_path: Path) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        store.add_concepts(NEW)
        elsewhere = Suggestion(NEW[0], 0, Concept("Q42", "author"))
        store.append([Decision("hemp milk", Action.ACCEPT, 0, (elsewhere,))], "Ada")
        with pytest.raises(ConfigurationError, match="are about another taxonomy"):
            fill_queue(store, model, "one", NEW)


def test_proposals_for_another_taxonomy_are_refused_before_any_decision(
    model: TaxoExpan, tmp_path: Path
) -> None:
    elsewhere = Suggestion(NEW[0], 1, Concept("Q42", "author"), ("person", "author"), 0.9)
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        store.add_concepts(NEW)
        store.set_proposals("of people", [elsewhere])
        with pytest.raises(ConfigurationError, match=r"the proposals in .* another taxonomy"):
            fill_queue(store, model, "one", NEW)


@pytest.mark.parametrize(
    "changed",
    [Concept("n1", "hemp milk", (), "a red apple"), Concept("n1", "hemp milk", ("red apple",))],
)
def test_proposals_are_computed_again_for_a_changed_text(
    model: TaxoExpan, tmp_path: Path, changed: Concept
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        fill_queue(store, model, "one", NEW)
        store.add_concepts([changed])
        store.add_concepts([changed])
        assert store.without_proposals("one", [changed, NEW[1]]) == [changed]
        assert fill_queue(store, model, "one", [changed, NEW[1]]) == 1
        assert fill_queue(store, model, "one", [changed, NEW[1]]) == 0
        found = store.concept("hemp milk")
    assert found is not None
    expected = [each.score for each in model.suggest([changed])]
    assert [each.score for each in found.proposals] == pytest.approx(expected, rel=1e-3)


def test_the_name_of_a_model_changes_with_its_content(model_directory: Path) -> None:
    name = model_name(model_directory)
    assert name.startswith(f"{model_directory.name} (")
    assert model_name(model_directory, Path("words.tsv")) == f"{name} with words.tsv"
