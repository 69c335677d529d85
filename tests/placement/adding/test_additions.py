from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from suggestion_tables import read_suggestions

from taxoexpan.errors import TaxonomyError
from taxoexpan.formats.changes.sssom import ConceptMapping, Justification
from taxoexpan.placement.adding.acceptance import Acceptance
from taxoexpan.placement.adding.additions import accept_suggestions, drop_existing, with_query_ids
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])


def suggestion(label: str, score: float, parent: str = "f", **fields: Any) -> Suggestion:
    known = FOOD.concept(parent) if parent in FOOD else Concept(parent, parent)
    return Suggestion(Concept(label, label), 1, known, (known.label,), score, **fields)


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, ["kiwi", "fig"]),
        ({"min_score": 0.5}, ["kiwi"]),
        ({"min_confidence": 0.6}, ["fig"]),
        ({"min_score": 0.5, "min_confidence": 0.6}, []),
    ],
)
def test_suggestions_below_a_threshold_are_left_out(
    options: dict[str, float], added: list[str]
) -> None:
    suggestions = [
        suggestion("kiwi", 0.5, confidence=0.5),
        suggestion("fig", 0.4, confidence=0.7),
    ]
    accepted = accept_suggestions(FOOD, suggestions, Acceptance(**options))
    assert [concept.label for concept in accepted.additions.concepts] == added
    assert accepted.left_out == 2 - len(added)


def test_every_query_is_added_or_present_or_merged_or_left_out() -> None:
    suggestions = [
        suggestion("kiwi", 0.9),
        suggestion("fig", 0.9),
        suggestion("Apple", 0.9),
        *(suggestion(label, 0.9, "a", kind=SuggestionKind.MERGE) for label in ("apfel", "pomme")),
        *(suggestion(label, 0.1) for label in ("bolt", "nut", "screw")),
    ]
    accepted = accept_suggestions(FOOD, suggestions, Acceptance(min_score=0.5))
    assert [concept.label for concept in accepted.additions.concepts] == ["kiwi", "fig"]
    assert [(new.label, known.id) for new, known in accepted.already_present] == [("Apple", "a")]
    assert [merge.query.label for merge in accepted.merged] == ["apfel", "pomme"]
    assert accepted.left_out == 3


def test_a_parent_whose_label_was_edited_is_refused() -> None:
    edited = replace(suggestion("kiwi", 0.9), parent=Concept("f", "vegetable"))
    with pytest.raises(TaxonomyError, match="'fruit' in the taxonomy, but 'vegetable'"):
        accept_suggestions(FOOD, [edited], Acceptance())
    for kept in (replace(edited, parent=Concept("f", "")), replace(edited, rank=0)):
        (accepted,) = accept_suggestions(FOOD, [kept], Acceptance()).suggestions
        assert accepted.parent == FOOD.concept("f")


def test_suggestions_are_returned_with_the_ids_that_were_filled_in() -> None:
    """Ids of this taxonomy are made from those of the parents, so they are made last."""
    ids = ("hg", *(f"hg-{number}" for number in range(1, 7)))
    codes = Taxonomy([Concept(id, f"food {id}") for id in ids], [("hg", id) for id in ids[1:]])
    given = [
        Suggestion(Concept("", "kiwi"), 1, codes.concept("hg-1"), (), 0.9),
        Suggestion(Concept("own", "fig"), 1, codes.concept("hg-2"), (), 0.9),
    ]
    accepted = accept_suggestions(codes, given, Acceptance())
    kiwi, fig = accepted.suggestions
    assert kiwi == replace(given[0], query=Concept("hg-1-1", "kiwi"))
    assert fig == given[1]
    assert accepted.additions.relations == (("hg-1", "hg-1-1"), ("hg-2", "own"))


def test_existing_concepts_are_dropped_with_their_relations() -> None:
    kiwi, apple = Concept("k", "kiwi"), Concept("a", "apple")
    kept, present = drop_existing(FOOD, Additions([kiwi, apple], [("f", "k"), ("f", "a")]))
    assert kept == Additions((kiwi,), (("f", "k"),))
    assert present == [(apple, FOOD.concept("a"))]


def test_a_new_concept_may_be_under_another_new_one() -> None:
    additions = Additions((Concept("x", "x"), Concept("y", "y")), (("f", "x"), ("x", "y")))
    assert drop_existing(FOOD, additions) == (additions, [])


def test_a_parent_of_another_taxonomy_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="'ghost', the parent of 'k', is not in the taxonomy"):
        drop_existing(FOOD, Additions([Concept("k", "kiwi")], [("ghost", "k")]))


def test_an_id_of_another_concept_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="'a' of the new concept 'kiwi' belongs to 'apple'"):
        drop_existing(FOOD, Additions([Concept("a", "kiwi")], [("f", "a")]))


def test_a_name_that_the_taxonomy_has_under_another_id_is_not_added_again() -> None:
    taxonomy = Taxonomy([Concept("1", "animal"), Concept("2", "Husky Dog")], [("1", "2")])
    additions, present = drop_existing(
        taxonomy, Additions([Concept("9", "husky-dog")], [("1", "9")])
    )
    assert additions == Additions((), ())
    assert [(concept.id, known.id) for concept, known in present] == [("9", "2")]


def test_a_parent_that_the_taxonomy_has_under_another_id_is_found_by_its_name() -> None:
    additions = Additions(
        [Concept("new:apple", "Apple"), Concept("k", "russet")],
        [("f", "new:apple"), ("new:apple", "k")],
        synonyms=(("new:apple", "pomme"),),
    )
    kept, _ = drop_existing(FOOD, additions)
    assert kept == Additions((Concept("k", "russet"),), (("a", "k"),), synonyms=(("a", "pomme"),))


def test_an_existing_concept_moves_nothing() -> None:
    additions = Additions(
        (Concept("a", "apple"),),
        (("f", "a"),),
        moves=(Move("a", "f", "a"),),
        synonyms=(("f", "x"),),
    )
    kept, _ = drop_existing(FOOD, additions)
    assert kept == Additions((), (), synonyms=(("f", "x"),))


def test_a_row_without_an_id_gets_one_for_all_rows_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("query,parent_id\nkiwi,f\nfig,f\nkiwi,a\n", encoding="utf-8")
    taxonomy = Taxonomy([Concept("C1", "f"), Concept("C2", "a")])
    given = with_query_ids(taxonomy, read_suggestions(path))
    assert [s.query.id for s in given] == ["C3", "C4", "C3"]
    given = replace(given[0], query=Concept("C3", "mango"))
    mixed = with_query_ids(taxonomy, [given, *read_suggestions(path)])
    assert [s.query.id for s in mixed] == ["C3", "C4", "C5", "C4"]


@pytest.mark.parametrize(
    ("id", "rank", "mapped"),
    [("7", 1, ("7", Justification.COMPOSITE, 0.9)), ("8", 0, ("", Justification.MANUAL, None))],
)
def test_a_merge_is_a_mapping_with_its_own_id_only(
    id: str, rank: int, mapped: tuple[str, Justification, float | None]
) -> None:
    merge = suggestion(id, 0.5, "a", confidence=0.9, kind=SuggestionKind.MERGE)
    accepted = accept_suggestions(FOOD, [replace(merge, rank=rank)], Acceptance())
    own, why, confidence = mapped
    assert accepted.mappings({"7"}) == [ConceptMapping(own, id, "a", "apple", why, confidence)]
