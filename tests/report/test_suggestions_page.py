from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from taxoexpan import Suggestion, TaxoExpan, Taxonomy
from taxoexpan.explain import Evidence
from taxoexpan.phrasing import ranked_numbers
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.report.page import Neighbor, Page, TreePosition, render
from taxoexpan.report.suggestion_details import describe_region, with_moves
from taxoexpan.report.suggestions_page import joint_page, suggestions_page
from taxoexpan.taxonomy import Additions, Concept, Move
from tests.support.decisions import SuggestionKind, Suitability
from tests.support.demo_report import HOSTILE
from tests.support.page_reader import (
    CREATED,
    NEW,
    calibrated_model,
    charts_of,
    details_of,
    figures_of,
    food_model,
    table_of,
    text_of,
)

Explained = tuple[list[Suggestion], list[Evidence]]


@pytest.fixture(scope="module")
def explained(scored_model: TaxoExpan) -> Explained:
    return scored_model.suggest_with_evidence(NEW, 4)


def page_of(
    model: TaxoExpan, suggestions: list[Suggestion], evidence: list[Evidence], **more: object
) -> Page:
    found = (model.taxonomy, suggestions, evidence, model.calibrators)
    return suggestions_page(*found, "New foods", CREATED, **more)  # type: ignore[arg-type]


def of_query(suggestions: list[Suggestion], id: str) -> list[Suggestion]:
    return [each for each in suggestions if each.query.id == id]


def replaced(suggestions: list[Suggestion], id: str, new: list[Suggestion]) -> list[Suggestion]:
    """Return the suggestions with those of one query replaced."""
    return [
        each
        for concept in NEW
        for each in (new if concept.id == id else of_query(suggestions, concept.id))
    ]


def test_every_new_concept_has_a_row_with_its_first_suggestion(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    page = page_of(scored_model, *explained)
    rows = [row.cells for row in table_of(page).rows]
    first = [each for each in explained[0] if each.rank == 1]
    assert [row[0] for row in rows] == [concept.label for concept in NEW]
    assert [row[2] for row in rows] == [each.path for each in first]
    assert [row[3] for row in rows] == [each.score for each in first]
    assert rows[0][1] == "add under"
    assert page.subtitle == "3 new concepts for a taxonomy of 89 concepts"
    assert page.footer.endswith("on 3 May 2026, 14:05 UTC.")


def test_a_row_opens_to_the_reasons_and_all_other_suggestions(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    suggestions, evidence = explained
    text, facts, _ = details_of(page_of(scored_model, *explained), 0)
    own = of_query(suggestions, "n1")
    first = evidence[0].first
    assert text == own[0].why
    assert facts["definition"] == "a drink of nuts"
    assert facts["cosine"] == (
        f"{first.cosine:.2f} with milk; head words only: {first.head_cosine:.2f}"
    )
    assert facts["shared words"] == "milk"
    numbers = ranked_numbers([each.score for each in own], [each.score for each in own])
    for each, number in zip(own[1:], numbers[1:], strict=True):
        assert facts[f"rank {each.rank}: {number}"] == each.path
    total = sum(evidence[0].score_parts.values())
    assert str(facts["raw score"]).startswith(f"{total:.2f} for milk: network ")
    assert ", shared words " in str(facts["raw score"])
    assert "synonyms" not in facts
    assert details_of(page_of(scored_model, *explained), 2)[1]["synonyms"] == "chèvre"


@pytest.mark.slow
def test_the_tree_shows_both_parents_and_counts_their_children() -> None:
    food = food_model()
    concepts = [Concept(f"n{i}", name) for i, name in enumerate(("oat milk", "kombucha", "ramen"))]
    suggestions, evidence = food.suggest_with_evidence(concepts, 5)
    page = page_of(food, suggestions, evidence)
    for row, reasons in enumerate(evidence):
        tree = details_of(page, row)[2]
        assert tree.runner_up is not None
        assert tree.concept == reasons.query.label
        both = (tree.suggested, tree.runner_up)
        for position, suggestion in zip(both, reasons.suggestions, strict=False):
            assert position.path == suggestion.path
            near = [(child.concept.label, child.cosine) for child in suggestion.nearest_children]
            assert {(each.label, each.cosine) for each in position.siblings} <= {*near}
            shown = len(position.siblings) + position.more_siblings
            assert suggestion.child_count - shown in (0, 1)
        own = of_query(suggestions, reasons.query.id)
        numbers = ranked_numbers([s.confidence_or_score for s in own], [s.score for s in own])
        assert [position.number for position in both] == numbers[:2]


def test_a_sibling_on_the_path_to_the_runner_up_is_shown_once(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    suggestions, evidence = explained
    first, second = evidence[0].first, evidence[0].suggestions[1]
    child = first.nearest_children[0].concept.label
    below = replace(second, path=(*first.path, child))
    changed = replace(evidence[0], suggestions=(first, below))
    tree = details_of(page_of(scored_model, suggestions, [changed, *evidence[1:]]), 0)[2]
    assert child not in [each.label for each in tree.suggested.siblings]
    assert len(tree.suggested.siblings) + tree.suggested.more_siblings == first.child_count - 1


def test_a_likely_duplicate_is_shown_as_a_synonym(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    suggestions, evidence = explained
    others = of_query(suggestions, "n2")
    merge = replace(
        others[0],
        parent=scored_model.taxonomy.concept("green tea"),
        path=scored_model.taxonomy.path("green tea"),
        score=0.999,
        confidence=0.999,
        kind=SuggestionKind.MERGE,
        why="",
    )
    merged = [merge, *(replace(each, rank=each.rank + 1) for each in others)]
    calibrators = replace(scored_model.calibrators, duplicates=(1.0, 1.0, 1.0))
    changed = replaced(suggestions, "n2", merged)
    page = suggestions_page(scored_model.taxonomy, changed, evidence, calibrators, "", CREATED)
    cells = table_of(page).rows[1].cells
    assert cells[1:3] == ["synonym of", ("food", "tea", "green tea")]
    text, facts, _ = details_of(page, 1)
    assert "synonym of 'green tea' (1.00)" in text
    assert f"it would go under '{merged[1].parent.label}'" in text
    second = [value for name, value in facts.items() if name.startswith("rank 2: ")]
    assert second == [merged[1].path]
    assert figures_of(page)["Likely duplicates"] == (1, "synonyms of existing concepts")


def test_an_additional_parent_is_named(scored_model: TaxoExpan, explained: Explained) -> None:
    suggestions, evidence = explained
    first, second, *rest = of_query(suggestions, "n3")
    changed = replaced(suggestions, "n3", [first, replace(second, kind=SuggestionKind.ALSO), *rest])
    page = page_of(scored_model, changed, evidence)
    assert table_of(page).rows[2].cells[1] == "add under, and under 1 more"
    text, facts, _ = details_of(page, 2)
    assert f"It also belongs under '{second.parent.label}' ({second.score:.2f})." in text
    assert next(v for name, v in facts.items() if name.startswith("also under: ")) == second.path


def test_the_closest_branch_is_named_if_no_parent_is_suitable(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    suggestions, evidence = explained
    own = [replace(each, place=Suitability.NONE) for each in of_query(suggestions, "n1")]
    page = page_of(scored_model, replaced(suggestions, "n1", own), evidence)
    assert table_of(page).rows[0].cells[1] == "no suitable parent"
    assert details_of(page, 0)[0].splitlines()[-1] == describe_region(
        scored_model.taxonomy, [each.parent.id for each in own]
    )
    common = describe_region(scored_model.taxonomy, ["milk", "oat milk", "tea"])
    assert "2 of the 3 suggestions are in the branch food › milk." in common
    assert "no branch in common" in describe_region(scored_model.taxonomy, ["milk", "bread", "tea"])


def test_unknown_numbers_are_explained_and_not_counted(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    page = page_of(scored_model, *explained)
    figures = figures_of(page)
    assert figures["Likely duplicates"] == ("–", "unknown: too few synonyms to learn from")
    assert figures["No suitable parent"] == ("–", "unknown: too few leaves to learn from")
    assert [column.name for column in table_of(page).columns][3] == "Score"
    assert "does not say how often they are right" in text_of(page, "How to read this report")
    assert charts_of(page) == []


def test_a_calibrated_model_shows_confidences() -> None:
    food = calibrated_model()
    concepts = [Concept(f"n{i}", name) for i, name in enumerate(("nut milk", "rye beer", "pho"))]
    suggestions, evidence = food.suggest_with_evidence(concepts, 5)
    page = page_of(food, suggestions, evidence)
    confidences = [each.confidence or 0 for each in suggestions if each.rank == 1]
    assert [row.cells[3] for row in table_of(page).rows] == confidences
    medium, high = (sum(each >= minimum for each in confidences) for minimum in (0.5, 0.9))
    value, note = figures_of(page)["Confidence at least 0.5"]
    assert (value, note.partition("; ")[2]) == (medium, f"{high} with at least 0.9")
    assert charts_of(page) == ["Reliability diagram", "Coverage and precision"]
    leaves = len(food.calibrators.calibration.reliability.right)  # type: ignore[union-attr]
    expected = f"measured on {leaves} existing concepts"
    assert expected in text_of(page, "How to read this report")


def test_added_and_already_present_concepts_are_listed(
    scored_model: TaxoExpan, explained: Explained
) -> None:
    known = (Concept("", "Oat-Milk"), scored_model.taxonomy.concept("oat milk"))
    added = Additions((NEW[0],), (("milk", "n1"),))
    page = page_of(scored_model, *explained, present=[known], added=added)
    outcomes = [row.cells[-1] for row in table_of(page).rows]
    assert outcomes == ["added", "not added", "not added"]
    assert figures_of(page)["New concepts"] == (3, "1 added; 1 more already in the taxonomy")
    assert [row.cells for row in table_of(page, "Already in the taxonomy").rows] == [
        ("Oat-Milk", "oat milk", ("food", "milk", "oat milk"))
    ]


def test_a_page_without_new_concepts(scored_model: TaxoExpan) -> None:
    page = suggestions_page(scored_model.taxonomy, [], [], Calibrators(), "Nothing", CREATED)
    assert figures_of(page) == {"New concepts": (0, "")}
    assert "Nothing" in render(page)


def test_every_suggested_parent_is_described_briefly() -> None:
    names = tuple(f"name {i}" for i in range(5))
    concepts = [
        Concept("food", "food", ("nourishment",), "what one eats; " + "and drinks " * 50),
        *(Concept(id, id) for id in ("milk", "tea")),
        Concept("soup", "soup", names, HOSTILE[0]),
    ]
    taxonomy = Taxonomy(concepts, [("food", each.id) for each in concepts[1:]])
    query = Concept("q", "oat drink", ("oat milk",), "a drink of oats")
    suggestions = [
        Suggestion(query, rank, taxonomy.concept(id), taxonomy.path(id), 1 / 2**rank)
        for rank, id in enumerate(("food", "milk", "soup"), start=1)
    ]
    coarse = replace(suggestions[0], rank=4, kind=SuggestionKind.COARSE)
    page = suggestions_page(taxonomy, [*suggestions, coarse], [], Calibrators(), "", CREATED)
    facts = dict(table_of(page).rows[0].details.facts)  # type: ignore[union-attr]
    assert facts["definition"] == "a drink of oats"  # of the new concept
    first = str(facts["about rank 1"])
    assert first.startswith("food: what one eats; and drinks ")
    assert first.endswith("…; also called nourishment; 3 children")
    assert len(first) < 250
    assert facts["about rank 2"] == "milk: no children"
    names_shown = "also called name 0, name 1, name 2, …; no children"
    assert str(facts["about rank 3"]).endswith(names_shown)
    assert "about rank 4" not in facts  # the same parent as rank 1
    assert list(facts).index("about rank 3") == list(facts).index("rank 3: 0.12") + 1
    assert HOSTILE[0] not in render(page)


MOVES = ("oat milk", "goat milk")


def taxonomy_of_milks() -> Taxonomy:
    concepts = [Concept(id, id) for id in ("food", "tea", *MOVES)]
    return Taxonomy(concepts, [("food", child.id) for child in concepts[1:]])


def test_children_that_may_move_are_named() -> None:
    taxonomy = taxonomy_of_milks()
    food = taxonomy.concept("food")
    first = Suggestion(
        Concept("q", "milk"), 1, food, ("food",), 0.9, kind=SuggestionKind.INSERT, moves=MOVES
    )
    page = suggestions_page(taxonomy, [first], [], Calibrators(), "Milk", datetime.now(UTC))
    text = render(page)
    assert "insert under" in text
    assert "may belong under it: oat milk and goat milk" in text


def test_moves_and_merges_that_were_made_are_shown_as_outcomes() -> None:
    taxonomy = taxonomy_of_milks()
    food, tea = taxonomy.concept("food"), taxonomy.concept("tea")
    milk, chai = Concept("q", "milk"), Concept("c", "chai")
    suggestions = [
        Suggestion(milk, 1, food, ("food",), 0.9, kind=SuggestionKind.INSERT, moves=MOVES),
        Suggestion(chai, 1, tea, ("food", "tea"), 0.9, kind=SuggestionKind.MERGE),
    ]
    added = Additions(
        (milk,),
        (("food", "q"),),
        moves=(Move("oat milk", "food", "q"),),
        synonyms=(("tea", "chai"),),
    )
    page = suggestions_page(
        taxonomy, suggestions, [], Calibrators(), "Milk", datetime.now(UTC), added=added
    )
    text = render(page)
    assert "moved under it: oat milk." in text
    assert "may belong under it: goat milk." in text
    assert figures_of(page)["New concepts"][1] == "1 added; 1 existing concept moved under them"
    assert "merged" in text
    assert "not added" not in text


def test_children_that_may_move_are_drawn_under_the_new_concept() -> None:
    position = TreePosition(("food",), [Neighbor("tea", 0.2), Neighbor("oat milk", 0.9)], 1)
    drawn = with_moves(position, MOVES, {"oat milk"})
    assert [each.label for each in drawn.siblings] == ["tea"]
    children = [(each.label, each.note) for each in drawn.children]
    assert children == [("oat milk", "moved here"), ("goat milk", "may move here")]
    assert drawn.more_siblings == 0


class Tags(HTMLParser):
    """The tags of a page, with the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs if name != "class")))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_labels_stay_text(scored_model: TaxoExpan, name: str) -> None:
    def page_with(name: str) -> str:
        taxonomy = Taxonomy.from_columns(
            scored_model.taxonomy.ids,
            [name] * len(scored_model.taxonomy),
            *scored_model.taxonomy.relation_indices,
        )
        concept = Concept("n", name, (name,), name)
        parents = [taxonomy.concept(id) for id in ("milk", "tea")]
        ranked = [
            Suggestion(
                concept, rank, parent, taxonomy.path(parent.id), 0.5 / rank, place=Suitability.NONE
            )
            for rank, parent in enumerate(parents, start=1)
        ]
        known = (concept, parents[0])
        page = suggestions_page(taxonomy, ranked, [], Calibrators(), name, CREATED, [known])
        return render(page)

    page_with(name).encode()
    assert Tags(page_with(name)).found == Tags(page_with("plain")).found


@pytest.mark.parametrize("name", [name for name in HOSTILE if "\ud800" not in name])
def test_hostile_labels_stay_text_in_explanations(scored_model: TaxoExpan, name: str) -> None:
    def count_tags(name: str) -> Counter[str]:
        found = scored_model.suggest_with_evidence([Concept("n", name, (name,), name)], 3)
        return Counter(tag for tag, _ in Tags(render(page_of(scored_model, *found))).found)

    hostile, plain = count_tags(name), count_tags("plain")
    assert hostile.keys() == plain.keys()
    assert [hostile[tag] for tag in ("script", "svg", "table")] == [
        plain[tag] for tag in ("script", "svg", "table")
    ]


def test_equal_suggestions_give_equal_pages(scored_model: TaxoExpan) -> None:
    one, other = (
        render(page_of(scored_model, *scored_model.suggest_with_evidence(NEW, 4))) for _ in range(2)
    )
    assert one == other


def test_the_page_shows_the_expanded_taxonomy() -> None:
    concepts = [Concept(id, id) for id in ("food", "tea", "green tea", "black tea")]
    relations = [("food", "tea"), ("tea", "green tea"), ("tea", "black tea")]
    taxonomy = Taxonomy(concepts, relations)
    hostile = HOSTILE[0]
    milk, oat, white = Concept("m", hostile), Concept("o", "oat milk"), Concept("w", "white tea")
    suggestions = [
        Suggestion(oat, 1, milk, ("food", hostile), 0.7),
        Suggestion(milk, 1, taxonomy.concept("food"), ("food",), 0.4),
        Suggestion(white, 1, taxonomy.concept("tea"), ("food", "tea"), 0.9),
    ]
    present = [(Concept("", "Tea"), concepts[1])]
    page = joint_page(taxonomy, suggestions, "Milk", CREATED, present)
    figures = figures_of(page)
    assert figures["New concepts"] == (3, "1 more already in the taxonomy")
    assert figures["Under another new concept"] == (1, "33\N{NO-BREAK SPACE}%")
    table = table_of(page)
    assert [row.cells[1] for row in table.rows] == ["add under new", "add under", "add under"]
    about = [dict(row.details.facts)["about rank 1"] for row in table.rows if row.details]
    assert about == [f"{hostile}: 1 child", "food: 2 children", "tea: 3 children"]
    trees = [row.details.tree for row in table.rows if row.details is not None]
    children = trees[1].suggested.children  # type: ignore[union-attr]
    siblings = trees[2].suggested.siblings  # type: ignore[union-attr]
    assert [(each.label, each.note) for each in children] == [("oat milk", "new")]
    assert [(each.label, each.note) for each in siblings] == [("green tea", ""), ("black tea", "")]
    assert hostile not in render(page)
    added = Additions((milk, white), (("food", "m"), ("tea", "w")))
    applied = joint_page(taxonomy, suggestions, "Milk", CREATED, added=added)
    assert figures_of(applied)["New concepts"] == (3, "2 added")
    assert figures_of(applied)["Under another new concept"] == (0, "0\N{NO-BREAK SPACE}%")
    rows = table_of(applied).rows
    assert [row.cells[-1] for row in rows] == ["not added", "added", "added"]
    drawn = [row.details.tree for row in rows if row.details is not None]
    assert drawn[0] is None
    assert not drawn[1].suggested.children  # type: ignore[union-attr]


def test_a_joint_page_without_new_concepts() -> None:
    taxonomy = Taxonomy([Concept("food", "food")], [])
    page = joint_page(taxonomy, [], "Nothing", CREATED)
    assert figures_of(page)["New concepts"] == (0, "")
