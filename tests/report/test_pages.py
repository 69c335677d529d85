"""What stands on the pages, from real models."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL
from demoreport import HOSTILE

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.curation.cleaning import ModelOptions, SuspiciousRelation, clean
from taxoexpan.explain import Evidence
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.confidence import AS_IT_IS, Calibration, Reliability
from taxoexpan.placement.proposals import with_merge
from taxoexpan.placement.suggestions import ALSO, INSERT, MERGE, NO_PLACE, Suggestion
from taxoexpan.report import suggestions_page, together_page, training_page
from taxoexpan.report.doubts_page import doubts_page
from taxoexpan.report.html import Figures, Neighbour, Page, Picture, Place, Table, Text, Tree, html
from taxoexpan.report.reliability import PRECISIONS, threshold_at, trust_pictures
from taxoexpan.report.suggestion_details import region_in_words, with_moves
from taxoexpan.taxonomy import Additions, Concept, Move

FOOD = Path(str(resources.files("taxoexpan").joinpath("data/food.csv")))
MADE = datetime(2026, 5, 3, 14, 5, tzinfo=UTC)
NEW = (
    Concept("n1", "cashew milk", (), "a drink of nuts"),
    Concept("n2", "white tea"),
    Concept("n3", "goat brie", ("chèvre",)),
)


@pytest.fixture(scope="module")
def explained(model: TaxoExpan) -> tuple[list[Suggestion], list[Evidence]]:
    return model.explain(NEW, 4)


@pytest.fixture(scope="module")
def food() -> TaxoExpan:
    """A model of the foods, hardly trained, which knows how far it can be trusted."""
    return TaxoExpan(seed=1, device="cpu", epochs=1).fit(Taxonomy.read(FOOD))


def page_of(
    model: TaxoExpan, suggestions: list[Suggestion], evidence: list[Evidence], **more: object
) -> Page:
    found = (model.taxonomy, suggestions, evidence, model.calibrators)
    return suggestions_page(*found, "New foods", MADE, **more)  # type: ignore[arg-type]


def table_of(page: Page, title: str = "Suggestions") -> Table:
    (table,) = (s for s in page.sections if isinstance(s, Table) and s.title == title)
    return table


def figures_of(page: Page) -> dict[str, tuple[object, str]]:
    return {
        figure.label: (figure.value, figure.remark)
        for section in page.sections
        if isinstance(section, Figures)
        for figure in section.figures
    }


def texts_of(page: Page, title: str) -> str:
    return "\n".join(
        line
        for section in page.sections
        if isinstance(section, Text) and section.title == title
        for line in section.paragraphs
    )


def charts_of(page: Page) -> list[str]:
    return [section.chart.name for section in page.sections if isinstance(section, Picture)]


def opened(page: Page, row: int) -> tuple[str, dict[str, object], Tree]:
    """What opens below a row: the words, the facts and the tree."""
    details = table_of(page).rows[row].details
    assert details is not None
    assert details.tree is not None
    return "\n".join(details.paragraphs), dict(details.facts), details.tree


def own(suggestions: list[Suggestion], id: str) -> list[Suggestion]:
    return [each for each in suggestions if each.query.id == id]


def with_(suggestions: list[Suggestion], id: str, changed: list[Suggestion]) -> list[Suggestion]:
    """The suggestions, those of one query replaced."""
    return [
        new for each in NEW for new in (changed if each.id == id else own(suggestions, each.id))
    ]


def test_every_new_concept_has_a_row_with_its_first_suggestion(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    page = page_of(model, *explained)
    rows = [row.cells for row in table_of(page).rows]
    first = [each for each in explained[0] if each.rank == 1]
    assert [row[0] for row in rows] == [concept.label for concept in NEW]
    assert [row[2] for row in rows] == [each.path for each in first]
    assert [row[3] for row in rows] == [each.score for each in first]
    assert rows[0][1] == "add under"
    assert page.subtitle == "3 new concepts for a taxonomy of 89 concepts"
    assert page.colophon.endswith("on 3 May 2026, 14:05 UTC.")


def test_a_row_opens_to_the_reasons_and_to_every_other_suggestion(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    suggestions, evidence = explained
    told, facts, _ = opened(page_of(model, *explained), 0)
    ranked = own(suggestions, "n1")
    assert told == ranked[0].why
    assert facts["definition"] == "a drink of nuts"
    assert facts["cosine"] == (
        f"{evidence[0].first.cosine:.2f} with milk; last words alone "
        f"{evidence[0].first.head_cosine:.2f}"
    )
    assert facts["shared words"] == "milk"
    for each in ranked[1:]:
        assert facts[f"no. {each.rank}, {each.score:.2f}"] == each.path
    assert str(facts["raw score"]).startswith(f"{evidence[0].parts.total:.2f} for milk: neighb")
    assert "synonyms" not in facts
    assert opened(page_of(model, *explained), 2)[1]["synonyms"] == "chèvre"


def test_the_tree_shows_both_places_and_counts_the_siblings(food: TaxoExpan) -> None:
    concepts = [Concept(f"n{i}", name) for i, name in enumerate(("oat milk", "kombucha", "ramen"))]
    suggestions, evidence = food.explain(concepts, 5)
    page = page_of(food, suggestions, evidence)
    for row, reasons in enumerate(evidence):
        tree = opened(page, row)[2]
        assert tree.runner_up is not None
        assert tree.concept == reasons.query.label
        for place, support in zip((tree.place, tree.runner_up), reasons.suggestions, strict=False):
            assert place.path == support.path
            near = {child.concept.label: child.cosine for child in support.children}
            assert all(near[each.label] == each.figure for each in place.siblings)
            shown = len(place.siblings) + place.more
            assert support.child_count - shown in (0, 1)
        sure = [each.confidence for each in own(suggestions, reasons.query.id)]
        assert [tree.place.figure, tree.runner_up.figure] == sure[:2]


def test_a_sibling_that_leads_on_to_the_other_place_is_shown_once(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    suggestions, evidence = explained
    first, second = evidence[0].first, evidence[0].suggestions[1]
    child = first.children[0].concept.label
    below = replace(second, path=(*first.path, child))
    changed = replace(evidence[0], support=(first, below))
    tree = opened(page_of(model, suggestions, [changed, *evidence[1:]]), 0)[2]
    assert child not in [each.label for each in tree.place.siblings]
    assert len(tree.place.siblings) + tree.place.more == first.child_count - 1


def test_another_name_is_said_to_be_one(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    suggestions, evidence = explained
    merged = with_merge(
        model.taxonomy, own(suggestions, "n2"), model.taxonomy.index("green tea"), 2.0
    )
    taught = replace(model.calibrators, duplicates=(1.0, 1.0, 1.0))
    given = with_(suggestions, "n2", merged)
    page = suggestions_page(model.taxonomy, given, evidence, taught, "", MADE)
    cells = table_of(page).rows[1].cells
    assert cells[1:3] == ["another name of", ("food", "tea", "green tea")]
    told, facts, _ = opened(page, 1)
    assert told.startswith(
        "Likely another name of green tea (0.88); as a concept of its own it would go under "
        f"{merged[1].parent.label}.\n"
    )
    assert facts[f"no. 2, {merged[1].score:.2f}"] == merged[1].path
    assert figures_of(page)["Likely other names"] == (1, "of concepts that are there")


def test_a_further_parent_is_named(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    suggestions, evidence = explained
    first, second, *rest = own(suggestions, "n3")
    given = with_(suggestions, "n3", [first, replace(second, kind=ALSO), *rest])
    page = page_of(model, given, evidence)
    assert table_of(page).rows[2].cells[1] == "add under, and under 1 more"
    told, facts, _ = opened(page, 2)
    assert f"It belongs under {second.parent.label} ({second.score:.2f}) as well." in told
    assert facts[f"also under, {second.score:.2f}"] == second.path


def test_where_there_is_no_good_place_the_nearest_region_is_named(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    suggestions, evidence = explained
    lost = [replace(each, place=NO_PLACE) for each in own(suggestions, "n1")]
    page = page_of(model, with_(suggestions, "n1", lost), evidence)
    assert table_of(page).rows[0].cells[1] == "no good place"
    assert opened(page, 0)[0].splitlines()[-1] == region_in_words(
        model.taxonomy, [each.parent.id for each in lost]
    )
    assert region_in_words(model.taxonomy, ["milk", "oat milk", "tea"]) == (
        "Nothing in the taxonomy is a good place for it; 2 of its 3 suggestions lie in the region "
        "food › milk."
    )
    nowhere = "Nothing in the taxonomy is a good place for it, and its suggestions are of no one"
    assert region_in_words(model.taxonomy, ["milk", "bread", "tea"]) == f"{nowhere} region."


def test_what_could_not_be_learned_is_said_and_not_counted(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    page = page_of(model, *explained)
    shown = figures_of(page)
    assert shown["Likely other names"] == ("–", "too few synonyms to learn that from")
    assert shown["Without a good place"] == ("–", "too few leaves to learn that from")
    assert [column.name for column in table_of(page).columns][3] == "Score"
    assert "is no probability" in texts_of(page, "How to read this")
    assert charts_of(page) == ["Histogram: score"]


def test_a_model_that_knows_how_sure_to_be_tells_it(food: TaxoExpan) -> None:
    concepts = [Concept(f"n{i}", name) for i, name in enumerate(("oat milk", "rye beer", "pho"))]
    suggestions, evidence = food.explain(concepts, 5)
    page = page_of(food, suggestions, evidence)
    sure = [each.confidence or 0 for each in suggestions if each.rank == 1]
    assert [row.cells[3] for row in table_of(page).rows] == sure
    half, high = (sum(each >= least for each in sure) for least in (0.5, 0.9))
    value, remark = figures_of(page)["Confidence of 0.5 or more"]
    assert (value, remark.partition("; ")[2]) == (half, f"{high} of 0.9 or more")
    assert charts_of(page) == [
        "Reliability diagram",
        "Coverage and precision",
        "Histogram: confidence",
    ]
    leaves = len(food.calibrators.calibration.reliability.right)  # type: ignore[union-attr]
    assert f"measured on {leaves} known concepts" in texts_of(page, "How to read this")


def test_what_was_added_and_what_was_there_already_is_told(
    model: TaxoExpan, explained: tuple[list[Suggestion], list[Evidence]]
) -> None:
    known = (Concept("", "Oat-Milk"), model.taxonomy.concept("oat milk"))
    added = Additions((NEW[0],), (("milk", "n1"),))
    page = page_of(model, *explained, present=[known], added=added)
    outcomes = [row.cells[-1] for row in table_of(page).rows]
    assert outcomes == ["added", "left out", "left out"]
    assert figures_of(page)["New concepts"] == (3, "1 of them added; 1 more was there already")
    assert [row.cells for row in table_of(page, "Already there").rows] == [
        ("Oat-Milk", "oat milk", ("food", "milk", "oat milk"))
    ]


def test_nothing_new_is_a_page_too(model: TaxoExpan) -> None:
    page = suggestions_page(model.taxonomy, [], [], Calibrators(), "Nothing", MADE)
    assert figures_of(page) == {"New concepts": (0, "")}
    assert "Nothing" in html(page)


def calibrated(right: list[bool]) -> Calibrators:
    """What a model knows of which these were right, from the surest on."""
    sure = np.linspace(0.99, 0.01, len(right))
    return Calibrators(Calibration(1.0, AS_IT_IS, AS_IT_IS, Reliability.of(sure, np.array(right))))


def test_the_highest_precision_that_is_reached_is_marked() -> None:
    _, curve = trust_pictures(calibrated([True] * 100 + [False] * 100))
    assert "Accepting a confidence of" in curve.chart.caption
    _, curve = trust_pictures(calibrated([True, False] * 60))
    assert curve.chart.caption == (
        "Each point is a least confidence that could be asked for. These leaves show none from "
        "which on 70\u00a0% are surely right."
    )


def test_the_page_of_a_training_tells_how_it_went(food: TaxoExpan) -> None:
    page = training_page(food, "A model of foods", MADE)
    record, shown = food.training, figures_of(page)
    assert shown["Concepts"][0] == 2432
    assert shown["Relations"][0] == 2465
    assert shown["Epochs"][0] == 1
    hits = f"{100 * record['validation']['hit_at_1']:.0f}\u00a0%"
    assert shown["Parent in first place"] == (hits, "Hit@1")
    assert charts_of(page) == ["Training", "Reliability diagram", "Coverage and precision"]
    made = texts_of(page, "How it was trained")
    assert "Preset best with epochs 1, seed 1; vectors by static" in made
    assert f"torch {record['versions']['torch']}" in made
    assert texts_of(page, "What could not be learned") == ""


def test_the_table_of_what_to_accept_keeps_its_word(food: TaxoExpan) -> None:
    assert food.calibrators.calibration is not None
    told = food.calibrators.calibration.reliability
    rows = [row.cells for row in table_of(training_page(food, "", MADE), "What to accept").rows]
    assert len(rows) == len(PRECISIONS)
    for precision, (name, *numbers) in zip(PRECISIONS, rows, strict=True):
        assert name == f"{100 * precision:.0f}\u00a0%"
        least = told.threshold(precision)
        if least is None:
            assert numbers == [None] * 3
            continue
        taken = [right for sure, right in zip(told.confidence, told.right, strict=True)
                 if sure >= least]  # fmt: skip
        assert numbers == pytest.approx([least, len(taken) / len(told.right), np.mean(taken)])
        assert numbers[2] >= precision
    perfect = calibrated([True] * 300).calibration
    assert perfect is not None
    found = threshold_at(perfect.reliability, 0.95)
    assert found is not None
    assert (found.coverage, found.precision) == (1.0, 1.0)


def test_a_training_on_little_says_what_it_could_not_learn(model: TaxoExpan) -> None:
    page = training_page(model, "", MADE)
    missing = texts_of(page, "What could not be learned")
    leaves = model.training["validation"]["queries"]
    assert (
        f"takes 50 leaves that are held out from the training, and there were {leaves}" in missing
    )
    assert "20 concepts with synonyms" in missing
    assert charts_of(page) == ["Training"]


def test_a_loaded_model_has_no_curves(model: TaxoExpan, model_directory: Path) -> None:
    loaded = TaxoExpan.load(model_directory, device="cpu")
    page = training_page(loaded, "", MADE)
    assert charts_of(page) == []
    assert figures_of(page) == figures_of(training_page(model, "", MADE))


class Tags(HTMLParser):
    """The tags of a page, and the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs if name != "class")))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(model: TaxoExpan, name: str) -> None:
    def made(name: str) -> str:
        taxonomy = Taxonomy.from_columns(
            model.taxonomy.ids,
            [name] * len(model.taxonomy),
            *model.taxonomy.relation_indices,
        )
        concept = Concept("n", name, (name,), name)
        parents = [taxonomy.concept(id) for id in ("milk", "tea")]
        ranked = [
            Suggestion(concept, rank, parent, taxonomy.path(parent.id), 0.5 / rank, place=NO_PLACE)
            for rank, parent in enumerate(parents, start=1)
        ]
        known = (concept, parents[0])
        page = suggestions_page(taxonomy, ranked, [], Calibrators(), name, MADE, [known])
        return html(page)

    made(name).encode()
    assert Tags(made(name)).found == Tags(made("plain")).found


@pytest.mark.parametrize("name", [name for name in HOSTILE if "\ud800" not in name])
def test_hostile_names_stay_text_among_reasons(model: TaxoExpan, name: str) -> None:
    def tags_of(name: str) -> Counter[str]:
        found = model.explain([Concept("n", name, (name,), name)], 3)
        return Counter(tag for tag, _ in Tags(html(page_of(model, *found))).found)

    hostile, plain = tags_of(name), tags_of("plain")
    assert hostile.keys() == plain.keys()
    assert [hostile[tag] for tag in ("script", "svg", "table")] == [
        plain[tag] for tag in ("script", "svg", "table")
    ]


def test_the_same_suggestions_make_the_same_page(model: TaxoExpan) -> None:
    one, other = (html(page_of(model, *model.explain(NEW, 4))) for _ in range(2))
    assert one == other


def test_a_doubtful_relation_stands_at_both_places() -> None:
    concepts = [Concept(id, id) for id in ("food", "milk", "tea", "oat milk", "green tea")]
    relations = [("food", "milk"), ("food", "tea"), ("tea", "oat milk"), ("tea", "green tea")]
    taxonomy = Taxonomy(concepts, relations)
    oat, tea, milk = (taxonomy.concept(id) for id in ("oat milk", "tea", "milk"))
    doubt = SuspiciousRelation(
        oat, tea, ("food", "tea"), 3, 2e-5, milk, ("food", "milk"), 0.81, 10.6
    )
    page = html(doubts_page(taxonomy, [doubt], 2, "Doubtful", datetime(2020, 1, 1, tzinfo=UTC)))
    told = (
        "Of the model\u0027s belief 81\u00a0% is in milk, and 1 in 50,000 in tea, where it is now."
    )
    assert told in page.replace("&#x27;", "'").replace("&#39;", "'")
    assert page.index(">better<") < page.index(">now<")


@pytest.fixture(scope="module")
def doubts(pantry: Path) -> tuple[Taxonomy, list[SuspiciousRelation]]:
    """What a short cleaning of the pantry finds, explained for a half of it."""
    taxonomy = Taxonomy.read(pantry)
    training = ModelOptions(seed=1, device="cpu", settings={**SMALL, "epochs": 2})
    return taxonomy, clean(taxonomy, training, folds=2, explained=20)


def test_a_doubtful_relation_opens_to_the_evidence(
    doubts: tuple[Taxonomy, list[SuspiciousRelation]],
) -> None:
    taxonomy, found = doubts
    page = doubts_page(taxonomy, found, len(found), "Doubtful", MADE)
    rows = table_of(page, "Doubtful relations").rows
    for row, doubt in zip(rows, found, strict=True):
        assert row.details is not None
        assert row.details.tree is not None
        tree, facts = row.details.tree, dict(row.details.facts)
        assert tree.runner_up is not None
        assert (tree.place.path, tree.runner_up.path) == (doubt.better_path, doubt.path)
        assert tree.marks == ("better", "now")
        others = len(taxonomy.children(doubt.parent.id)) - 1
        shown = len(tree.runner_up.siblings) + tree.runner_up.more
        assert shown in (others, others - 1)  # one may lead on to the better place
        if doubt.evidence is None:
            assert len(row.details.paragraphs) == 1
            assert not facts
            continue
        better, parent = doubt.evidence.suggestions
        assert row.details.paragraphs[1] == doubt.why
        assert f"with {better.parent.label};" in str(facts["cosine"])
        assert f"with {parent.parent.label};" in str(facts["cosine now"])
        assert facts["shared words now"] == (", ".join(parent.words) or "none")
        assert f"for {parent.parent.label}: " in str(facts["raw score now"])
        near = {child.concept.label: child.cosine for child in better.children}
        assert all(near[each.label] == each.figure for each in tree.place.siblings)
    assert sum(doubt.evidence is not None for doubt in found) == 40


def test_confidences_of_both_places_stand_in_columns_or_are_said_to_be_missing(
    doubts: tuple[Taxonomy, list[SuspiciousRelation]],
) -> None:
    taxonomy, found = doubts
    page = doubts_page(taxonomy, found, len(found), "Doubtful", MADE)
    table = table_of(page, "Doubtful relations")
    kinds = {column.name: column.kind for column in table.columns}
    assert (kinds["Confidence"], kinds["Confidence now"]) == ("share", "number")
    places = [[*kinds].index(name) for name in ("Confidence", "Confidence now")]
    assert {row.cells[place] for row in table.rows for place in places} == {None}
    assert "too few leaves" in texts_of(page, "How to read this")
    sure = [replace(each, confidence=0.64, parent_confidence=0.01) for each in found]
    page = doubts_page(taxonomy, sure, len(found), "Doubtful", MADE)
    row = table_of(page, "Doubtful relations").rows[0]
    assert [row.cells[place] for place in places] == [0.64, 0.01]
    assert "too few leaves" not in texts_of(page, "How to read this")
    assert row.details is not None
    assert row.details.tree is not None
    assert row.details.tree.runner_up is not None
    assert (row.details.tree.place.figure, row.details.tree.runner_up.figure) == (0.64, 0.01)
    assert "better, 0.64" in html(page)


def test_children_that_might_move_are_drawn_below_the_new_concept() -> None:
    concepts = [Concept(id, id) for id in ("food", "tea", "oat milk", "goat milk")]
    taxonomy = Taxonomy(concepts, [("food", child.id) for child in concepts[1:]])
    moves = ("oat milk", "goat milk")
    food = taxonomy.concept("food")
    first = Suggestion(Concept("q", "milk"), 1, food, ("food",), 0.9, kind=INSERT, moves=moves)
    page = html(suggestions_page(taxonomy, [first], [], Calibrators(), "Milk", datetime.now(UTC)))
    assert "add between" in page
    assert "perhaps to be moved below it: oat milk and goat milk. Nothing is moved." in page
    place = Place(("food",), [Neighbour("tea", 0.2), Neighbour("oat milk", 0.9)], 1)
    drawn = with_moves(place, moves)
    assert [each.label for each in drawn.siblings] == ["tea"]
    assert [each.label for each in drawn.children] == ["oat milk", "goat milk"]
    assert drawn.more == 0


def test_what_was_moved_and_merged_is_told_as_done() -> None:
    concepts = [Concept(id, id) for id in ("food", "tea", "oat milk", "goat milk")]
    taxonomy = Taxonomy(concepts, [("food", child.id) for child in concepts[1:]])
    food, tea = taxonomy.concept("food"), taxonomy.concept("tea")
    milk, chai = Concept("q", "milk"), Concept("c", "chai")
    moves = ("oat milk", "goat milk")
    told = [
        Suggestion(milk, 1, food, ("food",), 0.9, kind=INSERT, moves=moves),
        Suggestion(chai, 1, tea, ("food", "tea"), 0.9, kind=MERGE),
    ]
    added = Additions(
        (milk,),
        (("food", "q"),),
        moves=(Move("oat milk", "food", "q"),),
        synonyms=(("tea", "chai"),),
    )
    page = suggestions_page(
        taxonomy, told, [], Calibrators(), "Milk", datetime.now(UTC), added=added
    )
    text = html(page)
    assert "Named after it, and moved below it: oat milk." in text
    assert "perhaps to be moved below it: goat milk. These were not moved." in text
    assert (
        figures_of(page)["New concepts"][1] == "1 of them added; 1 known concept moved below them"
    )
    assert "merged" in text
    assert "left out" not in text
    place = with_moves(Place(("food",), [], 3), moves, {"oat milk"})
    assert [each.mark for each in place.children] == ["moved here", "might move here"]


def test_a_list_that_was_placed_together_is_shown_as_it_would_stand() -> None:
    concepts = [Concept(id, id) for id in ("food", "tea", "green tea", "black tea")]
    relations = [("food", "tea"), ("tea", "green tea"), ("tea", "black tea")]
    taxonomy = Taxonomy(concepts, relations)
    hostile = HOSTILE[0]
    milk, oat, white = Concept("m", hostile), Concept("o", "oat milk"), Concept("w", "white tea")
    told = [
        Suggestion(oat, 1, milk, ("food", hostile), 0.7),
        Suggestion(milk, 1, taxonomy.concept("food"), ("food",), 0.4),
        Suggestion(white, 1, taxonomy.concept("tea"), ("food", "tea"), 0.9),
    ]
    page = together_page(taxonomy, told, "Milk", MADE, [(Concept("", "Tea"), concepts[1])])
    figures = figures_of(page)
    assert figures["New concepts"] == (3, "1 more was there already")
    assert figures["Under another new one"] == (1, "33\N{NO-BREAK SPACE}%")
    table = table_of(page, "Places")
    assert [row.cells[1] for row in table.rows] == ["new", "known", "known"]
    trees = [row.details.tree for row in table.rows if row.details is not None]
    below, beside = trees[1].place.children, trees[2].place.siblings  # type: ignore[union-attr]
    assert [(each.label, each.mark) for each in below] == [("oat milk", "new")]
    assert [(each.label, each.mark) for each in beside] == [("green tea", ""), ("black tea", "")]
    added = Additions((milk, white), (("food", "m"), ("tea", "w")))
    applied = together_page(taxonomy, told, "Milk", MADE, added=added)
    assert figures_of(applied)["New concepts"] == (3, "2 of them added")
    assert figures_of(applied)["Under another new one"] == (0, "0\N{NO-BREAK SPACE}%")
    rows = table_of(applied, "Places").rows
    assert [row.cells[-1] for row in rows] == ["left out", "added", "added"]
    left = [row.details.tree for row in rows if row.details is not None]
    assert left[0] is None
    assert not left[1].place.children  # type: ignore[union-attr]
    assert hostile not in html(page)
    empty = together_page(taxonomy, [], "Nothing", MADE)
    assert figures_of(empty)["New concepts"] == (0, "")
