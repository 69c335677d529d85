from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.adding.acceptance import (
    Acceptance,
    coarse_places,
    decide,
    leave_undecided,
    place_safely,
    select_additions,
)
from taxoexpan.placement.adding.additions import (
    accept_suggestions,
    expanded_taxonomy,
    validate_additions,
)
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import write_file
from tests.support.suggestion_tables import read_suggestions

FOOD = Taxonomy([Concept("f", "f"), Concept("a", "a")], [("f", "a")])
DRINKS = Taxonomy(
    [
        *(Concept(id, id) for id in ("drink", "organic", "tea", "organic oat milk")),
        Concept("aubergine", "aubergine", ("eggplant",)),
    ],
    [("drink", "tea"), ("drink", "organic oat milk"), ("organic", "organic oat milk")],
)
MILK = Concept("milk", "milk")


def select(suggestions: Sequence[Suggestion], **options: Any) -> Additions:
    return select_additions(suggestions, Acceptance(**options))


def suggestion(query: str, rank: int, parent: str, score: float) -> Suggestion:
    return Suggestion(Concept(query, query), rank, Concept(parent, parent), (parent,), score)


def merge(query: str, known: str, score: float, rank: int = 1) -> Suggestion:
    return replace(suggestion(query, rank, known, score), kind=SuggestionKind.MERGE)


def merge_into(query: Concept, known: str) -> Suggestion:
    return Suggestion(query, 1, Concept(known, known), (known,), 0.9, 0.9, SuggestionKind.MERGE)


def insert(query: str, parent: str, *moves: str, rank: int = 1, score: float = 0.5) -> Suggestion:
    concept, above = Concept(query, query), Concept(parent, parent)
    return Suggestion(
        concept, rank, above, (parent,), score, kind=SuggestionKind.INSERT, moves=moves
    )


TWO = [
    suggestion("kiwi", 1, "f", 0.6),
    suggestion("kiwi", 2, "a", 0.3),
    suggestion("fig", 1, "a", 0.2),
    suggestion("fig", 2, "f", 0.1),
]


def test_the_first_parents_of_each_query_are_selected() -> None:
    assert select(TWO) == Additions(
        (Concept("kiwi", "kiwi"), Concept("fig", "fig")), (("f", "kiwi"), ("a", "fig"))
    )
    assert len(select(TWO, top_k=2).relations) == 4


def test_parents_below_the_minimum_score_are_left_out() -> None:
    chosen = select(TWO, top_k=2, min_score=0.3)
    assert chosen == Additions((Concept("kiwi", "kiwi"),), (("f", "kiwi"), ("a", "kiwi")))


def test_a_merge_below_the_minimum_score_is_rejected() -> None:
    given = [merge("pommes", "a", 0.6), suggestion("pommes", 2, "f", 0.7)]
    kept = select(given, min_score=0.5, allow_merges=True)
    assert (kept.synonyms, kept.relations) == ((("a", "pommes"),), ())
    left = select(given, min_score=0.65, allow_merges=True)
    assert (left.synonyms, left.relations) == ((), (("f", "pommes"),))


def test_the_more_confident_merge_comes_first_in_any_order() -> None:
    given = [merge("Brew", "a", 0.6), merge("brew", "f", 0.9), merge("BREW", "a", 0.2, rank=0)]
    given = [replace(s, query=Concept(str(i), s.query.label)) for i, s in enumerate(given)]
    for order in permutations(given):
        synonyms = select(order, allow_merges=True).synonyms
        assert synonyms == (("a", "BREW"), ("f", "brew"), ("a", "Brew"))


def test_children_of_a_rejected_concept_are_rejected() -> None:
    doubtful = [
        suggestion("berry", 1, "f", 0.2),
        suggestion("red berry", 1, "berry", 0.9),
        suggestion("currant", 1, "red berry", 0.8),
        suggestion("currant", 2, "f", 0.1),
        suggestion("plum", 1, "f", 0.7),
    ]
    additions = select(doubtful, min_score=0.5)
    assert additions.relations == (("f", "plum"),)
    assert [concept.id for concept in additions.concepts] == ["plum"]
    assert len(select(doubtful).relations) == 4


def test_the_next_rank_counts_as_first_if_the_first_was_removed() -> None:
    assert select(TWO[1:]).relations == (("a", "kiwi"), ("a", "fig"))


def test_rows_without_a_rank_are_all_selected(tmp_path: Path) -> None:
    rows = "query,query_id,parent_id\nkiwi,k,f\nkiwi,k,a\n"
    assert select(read_suggestions(write_file(tmp_path / "s.csv", rows))).relations == (
        ("f", "k"),
        ("a", "k"),
    )


def test_a_relation_that_is_suggested_twice_is_selected_once() -> None:
    assert select([TWO[0], TWO[0]]).relations == (("f", "kiwi"),)


def test_rows_that_a_person_added_without_a_rank_come_first() -> None:
    query = Concept("q", "husky")
    given = [Suggestion(query, rank, Concept(p, p), (), 1.0) for rank, p in ((1, "a"), (0, "b"))]
    assert select(given, top_k=1).relations == (("b", "q"),)


def test_suggestions_below_the_minimum_confidence_are_left_out() -> None:
    sure, unsure = (
        replace(suggestion(name, 1, "f", 0.5), confidence=confidence)
        for name, confidence in (("kiwi", 0.9), ("fig", 0.4))
    )
    own = suggestion("plum", 0, "f", 1.0)
    chosen = select([sure, unsure, own], min_confidence=0.5)
    assert [concept.label for concept in chosen.concepts] == ["kiwi", "plum"]
    with pytest.raises(ConfigurationError, match="not all of these suggestions have a confidence"):
        select([suggestion("kiwi", 1, "f", 0.5)], min_confidence=0.5)


@given(st.permutations([0, 1, 2, 3]))
def test_the_longer_name_gets_a_child_that_two_inserts_claim(order: list[int]) -> None:
    rows = [
        insert("milk", "drink", "tea", "organic oat milk", score=0.9),
        insert("oat milk", "drink", "organic oat milk", score=0.2),
        insert("wet", "drink", "tea", score=0.3),
        merge_into(Concept("m", "brinjal"), "aubergine"),
    ]
    chosen = select([rows[i] for i in order], allow_moves=True, allow_merges=True)
    kept, rejected = validate_additions(DRINKS, chosen)
    assert set(kept.moves) == {
        Move("organic oat milk", "drink", "oat milk"),
        Move("tea", "drink", "milk"),
    }
    assert [reason.partition(": ")[2] for reason in rejected] == [
        "it already moves below 'oat milk'",
        "it already moves below 'milk'",
    ]
    assert kept.synonyms == (("aubergine", "brinjal"),)
    expanded = DRINKS.expanded(kept)
    assert expanded.parents("organic oat milk") == ("oat milk", "organic")
    assert expanded.parents("tea") == ("milk",)


def test_the_more_confident_insert_gets_a_child_and_a_persons_own_comes_first() -> None:
    rows = [insert("tees", "drink", "tea", score=0.2), insert("leaf", "drink", "tea", score=0.9)]
    (first, _) = select(rows, allow_moves=True).moves
    assert first.new_parent == "leaf"
    own = insert("t", "drink", "tea", rank=0, score=0.0)
    assert select([*rows, own], allow_moves=True).moves[0].new_parent == "t"


def test_moves_and_merges_must_be_allowed() -> None:
    rows = [insert("milk", "drink", "tea"), merge_into(Concept("m", "brinjal"), "aubergine")]
    plain = Additions((MILK,), (("drink", "milk"),))
    assert select(rows) == plain
    assert select(rows, allow_moves=True) == replace(plain, moves=(Move("tea", "drink", "milk"),))
    assert select(rows, allow_merges=True) == replace(plain, synonyms=(("aubergine", "brinjal"),))


def test_an_insert_that_is_not_selected_moves_nothing() -> None:
    rows = [insert("milk", "drink", "tea", rank=2), insert("milk", "tea", rank=1)]
    assert select(rows, allow_moves=True).moves == ()


def test_a_merge_adds_the_synonyms_of_the_query() -> None:
    known = select(
        [merge_into(Concept("m", "brinjal", ("melongene",)), "aubergine")], allow_merges=True
    )
    assert known.synonyms == (("aubergine", "brinjal"), ("aubergine", "melongene"))


def test_accepted_rows_are_applied_alone_whatever_their_rank_and_the_thresholds() -> None:
    rows = [*TWO[:1], replace(TWO[1], decision=Verdict.ACCEPTED), *TWO[2:]]
    chosen = select(rows, top_k=2, min_score=0.5)
    assert chosen.relations == (("a", "kiwi"),)
    both = [replace(row, decision=Verdict.ACCEPTED) for row in TWO[:2]]
    assert select(both).relations == (("f", "kiwi"), ("a", "kiwi"))


def test_undecided_rows_wait_for_a_threshold_and_rejected_ones_are_never_applied() -> None:
    kiwi = [replace(row, decision=Verdict.UNDECIDED) for row in TWO[:2]]
    fig = [replace(TWO[2], decision=Verdict.REJECTED), TWO[3]]
    rows = [*kiwi, *fig]
    assert select(rows).relations == (("f", "fig"),)
    assert select(rows, min_score=0.0).relations == (("f", "kiwi"), ("f", "fig"))
    own = replace(kiwi[1], rank=0)
    assert select([kiwi[0], own, *fig]).relations == (("a", "kiwi"), ("f", "fig"))


def test_children_of_an_undecided_concept_are_not_applied() -> None:
    berry = replace(suggestion("berry", 1, "f", 0.2), decision=Verdict.UNDECIDED)
    currant = replace(suggestion("currant", 1, "berry", 0.9), decision=Verdict.ACCEPTED)
    assert select([berry, currant]).concepts == ()


@pytest.mark.parametrize("name", ["min_score", "min_confidence"])
def test_a_threshold_is_a_number_from_0_to_1(name: str) -> None:
    for good in (None, 0, 0.5, 1):
        assert Acceptance(**{name: good}).has_threshold == (good is not None)
    for bad in (-0.1, 1.01, float("nan"), "0.5"):
        with pytest.raises(ConfigurationError, match=name):
            Acceptance(**{name: bad})


@pytest.mark.parametrize("name", ["allow_moves", "allow_merges"])
def test_a_permission_is_true_or_false(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Acceptance(**{name: "yes"})


def test_an_allowed_change_names_its_option() -> None:
    assert Acceptance().allowed_changes == []
    assert Acceptance(allow_moves=True).allowed_changes == ["moves"]
    assert Acceptance(allow_merges=True).allowed_changes == ["synonyms"]


ACCEPTED, UNDECIDED, OPEN = Verdict.ACCEPTED, Verdict.UNDECIDED, Verdict.OPEN


def ranked(
    label: str, *confidences: float | None, place: Place = Place.POSSIBLE
) -> list[Suggestion]:
    return [
        replace(suggestion(label, rank, id, 0.3 / rank), confidence=confidence, place=place)
        for rank, (id, confidence) in enumerate(zip("fa", confidences, strict=False), start=1)
    ]


def decisions(suggestions: list[Suggestion], **options: Any) -> list[Verdict]:
    return [each.decision for each in decide(suggestions, Acceptance(**options), FOOD)]


SURE, UNSURE = ranked("kiwi", 0.5, 0.2), ranked("fig", 0.49, 0.3)
NOWHERE = ranked("bolt", 0.9, 0.1, place=Place.NONE)


def test_placements_that_are_more_likely_wrong_or_have_no_suitable_parent_are_undecided() -> None:
    assert decisions([*SURE, *UNSURE, *NOWHERE]) == [ACCEPTED, OPEN, *[UNDECIDED] * 4]


def test_a_further_parent_below_the_floor_is_not_accepted() -> None:
    assert decisions(SURE, top_k=2) == [ACCEPTED, OPEN]
    assert decisions(ranked("kiwi", 0.9, 0.6), top_k=2) == [ACCEPTED, ACCEPTED]


def test_without_a_confidence_everything_with_a_suitable_parent_is_accepted() -> None:
    unknown = [replace(each, confidence=None) for each in [*SURE, *UNSURE, *NOWHERE]]
    assert decisions(unknown) == [ACCEPTED, OPEN, ACCEPTED, OPEN, UNDECIDED, UNDECIDED]
    with pytest.raises(ConfigurationError, match="not all of these suggestions have a confidence"):
        decisions(unknown, min_confidence=0.1)


def test_a_given_threshold_replaces_the_floor() -> None:
    rows = [*SURE, *UNSURE, *NOWHERE]
    assert decisions(rows, min_confidence=0.0) == [ACCEPTED, OPEN] * 3
    assert decisions(rows, min_confidence=0.8) == [*[UNDECIDED] * 4, ACCEPTED, OPEN]
    assert decisions(rows, min_score=0.4) == [UNDECIDED] * 6


def test_concepts_that_are_left_out_are_named_in_a_warning() -> None:
    with pytest.warns(UserWarning, match="2 concepts left out"):
        expanded = expanded_taxonomy(FOOD, [*SURE, *UNSURE, *NOWHERE], Acceptance())
    assert len(expanded) == len(FOOD) + 1
    assert {each.decision for each in leave_undecided(SURE)} == {UNDECIDED}


def test_a_likely_synonym_is_not_marked() -> None:
    first, second = ranked("apfel", 0.8, 0.3)
    assert decisions([replace(first, kind=SuggestionKind.MERGE), second]) == [OPEN, OPEN]


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"min_score": 0.2}, {"min_confidence": 0.0}])
def test_the_accepted_suggestions_are_those_that_are_added(options: dict[str, Any]) -> None:
    decided = decide([*SURE, *UNSURE, *NOWHERE], Acceptance(**options), FOOD)
    accepted = accept_suggestions(FOOD, decided, Acceptance())
    marked = [(s.parent.id, s.query.id) for s in decided if s.decision == ACCEPTED]
    assert list(accepted.additions.relations) == marked
    undecided = {s.query.id for s in decided if s.decision == UNDECIDED}
    assert (accepted.undecided.total(), accepted.left_out) == (len(undecided), 0)


FRUIT = ("apple", "pear", "plum")
MENU = Taxonomy(
    [Concept(id, id) for id in ("food", "drink", "cocktail", "martini", "fruit", *FRUIT)],
    [
        *(("food", "drink"), ("drink", "cocktail"), ("cocktail", "martini"), ("food", "fruit")),
        *(("fruit", each) for each in FRUIT),
    ],
)
MARTINI = Suggestion(
    Concept("n", "espresso martini"),
    1,
    Concept("martini", "martini"),
    ("food", "drink", "cocktail", "martini"),
    0.4,
    0.5,
    levels=(1.0, 0.97, 0.82, 0.51),
)
OTHER = replace(
    MARTINI,
    rank=2,
    parent=Concept("fruit", "fruit"),
    path=("food", "fruit"),
    confidence=0.01,
    levels=(1.0, 0.02),
)


@pytest.mark.parametrize(
    ("truth", "parent"),
    [(0.99, None), (0.9, "drink"), (0.82, "cocktail"), (0.8, "cocktail"), (0.5, "martini")],
)
def test_a_concept_is_placed_as_deep_as_is_sure(truth: float, parent: str | None) -> None:
    decided = decide([MARTINI, OTHER], Acceptance(min_branch=truth), MENU)
    accepted = [s for s in decided if s.decision == ACCEPTED]
    assert [s.parent.id for s in accepted] == ([parent] if parent else [])
    if not accepted:
        assert {s.decision for s in decided} == {UNDECIDED}
        return
    (placed,) = accepted
    assert [s.rank for s in decided] == list(range(1, len(decided) + 1))
    if parent == "martini":
        assert placed == replace(MARTINI, decision=ACCEPTED)
        assert len(decided) == 2
    else:
        depth = placed.path.index(placed.parent.id)
        assert placed.kind == SuggestionKind.COARSE
        assert (placed.path, placed.levels) == (
            MARTINI.path[: depth + 1],
            MARTINI.levels[: depth + 1],
        )
        assert placed.confidence == placed.branch_confidence == MARTINI.levels[depth] >= truth
    added = accept_suggestions(MENU, decided, Acceptance()).additions
    assert [each for each, _ in added.relations] == [parent]
    assert [concept.label for concept in added.concepts] == ["espresso martini"]


def test_a_coarse_placement_is_accepted_once() -> None:
    also = replace(MARTINI, rank=2, parent=Concept("drink", "drink"), path=MARTINI.path[:2])
    also = replace(also, levels=MARTINI.levels[:2])
    decided = decide([MARTINI, also], Acceptance(), MENU)
    accepted = [s for s in decided if s.decision == ACCEPTED]
    assert [(s.parent.id, s.kind) for s in accepted] == [("drink", SuggestionKind.COARSE)]


def test_a_place_must_say_something() -> None:
    """A root above all others says nothing, but one of many roots does, if it is suggested."""
    first = replace(MARTINI, parent=Concept("food", "food"), path=("food",), levels=(1.0,))
    assert [s.decision for s in decide([first], Acceptance(), MENU)] == [UNDECIDED]
    flat = Taxonomy(MENU.concepts, [("fruit", each) for each in FRUIT])
    root = replace(OTHER, rank=1, parent=Concept("fruit", "fruit"), path=("fruit",), levels=(0.95,))
    assert [s.decision for s in decide([root], Acceptance(), flat)] == [ACCEPTED]
    below = replace(
        root, parent=Concept("pear", "pear"), path=("fruit", "pear"), levels=(0.95, 0.3)
    )
    assert [s.decision for s in decide([below], Acceptance(), flat)] == [UNDECIDED]


def test_suggestions_that_nobody_decided_follow_the_same_rule() -> None:
    """Without a person's decision, the branch confidence that the model has learned counts."""
    ranked = [replace(each, sure_from=0.8) for each in (MARTINI, OTHER)]
    nowhere = replace(MARTINI, query=Concept("m", "flat white"), place=Place.NONE)
    vague = replace(MARTINI, query=Concept("v", "thing"), levels=(1.0, 0.6, 0.5, 0.4))
    accepted = accept_suggestions(MENU, [*ranked, nowhere, vague], Acceptance())
    assert accepted.additions.relations == (("cocktail", "n"),)
    assert accepted.undecided == {"without a suitable parent": 1, "not sure enough": 1}
    everything = Acceptance(min_confidence=0.0)
    added = accept_suggestions(MENU, [*ranked, nowhere, vague], everything).additions
    assert added.relations == (("martini", "n"), ("martini", "m"), ("martini", "v"))


@pytest.mark.parametrize(
    ("rows", "parent"),
    [
        ([replace(OTHER, rank=0)], "fruit"),
        ([replace(OTHER, decision=Verdict.ACCEPTED)], "fruit"),
        ([OTHER], "fruit"),
        ([replace(MARTINI, decision=Verdict.REJECTED), OTHER], None),
        ([MARTINI, replace(OTHER, rank=3)], "drink"),
    ],
)
def test_a_person_decides_before_the_rule(rows: list[Suggestion], parent: str | None) -> None:
    """A row of one's own, an accepted row, or a removed first row is a decision."""
    accepted = accept_suggestions(MENU, rows, Acceptance())
    assert [each for each, _ in accepted.additions.relations] == ([parent] if parent else [])
    assert accepted.undecided.total() == (parent is None)


SIMILAR = replace(
    MARTINI,
    query=Concept("s", "martinis"),
    path=("food",),
    confidence=None,
    kind=SuggestionKind.SIMILAR,
    levels=(),
    why="'martinis' and 'martini' differ only in singular and plural",
)
ALSO_SURE = replace(
    MARTINI, query=SIMILAR.query, rank=2, confidence=0.99, levels=(1.0, 0.99, 0.99, 0.99)
)


@pytest.mark.parametrize("options", [{}, {"exact_only": True}, {"min_confidence": 0.5}])
def test_a_concept_with_a_similar_name_waits_for_a_person(options: dict[str, Any]) -> None:
    rule = Acceptance(allow_merges=True, **options)
    for rows in ([SIMILAR, ALSO_SURE], decide([SIMILAR, ALSO_SURE], rule, MENU)):
        accepted = accept_suggestions(MENU, rows, rule)
        assert (accepted.additions.concepts, accepted.additions.synonyms) == ((), ())
        assert accepted.undecided == {"similar to an existing concept": 1}
    assert {s.decision for s in decide([SIMILAR, ALSO_SURE], rule, MENU)} == {UNDECIDED}
    everything = accept_suggestions(MENU, [SIMILAR, ALSO_SURE], Acceptance(min_confidence=0.0))
    assert everything.undecided == {"similar to an existing concept": 1}


@pytest.mark.parametrize(
    ("rows", "relations", "synonyms"),
    [
        ([SIMILAR, replace(ALSO_SURE, decision=ACCEPTED)], [("martini", "s")], []),
        ([replace(SIMILAR, decision=ACCEPTED), ALSO_SURE], [], [("martini", "martinis")]),
        ([replace(SIMILAR, decision=Verdict.REJECTED), ALSO_SURE], [("martini", "s")], []),
        ([ALSO_SURE], [("martini", "s")], []),
    ],
)
def test_a_person_decides_about_a_similar_name(
    rows: list[Suggestion], relations: list[tuple[str, str]], synonyms: list[tuple[str, str]]
) -> None:
    additions = accept_suggestions(MENU, rows, Acceptance(allow_merges=True)).additions
    assert (list(additions.relations), list(additions.synonyms)) == (relations, synonyms)


def test_a_finer_suggestion_that_a_person_accepts_replaces_the_coarse_one() -> None:
    decided = decide([MARTINI, OTHER], Acceptance(), MENU)
    assert [s.parent.id for s in decided if s.decision == ACCEPTED] == ["drink"]
    edited = [replace(decided[0], decision=ACCEPTED), *decided[1:]]
    added = accept_suggestions(MENU, edited, Acceptance()).additions
    assert [parent for parent, _ in added.relations] == ["martini"]


def test_exact_parents_and_thresholds_make_no_coarse_placements() -> None:
    rows = [MARTINI, OTHER]
    rules = [Acceptance(exact_only=True), Acceptance(min_confidence=0.5), Acceptance(min_score=0.3)]
    for rule in rules:
        decided = decide(rows, rule, MENU)
        assert [s.decision for s in decided] == [ACCEPTED, OPEN]
    assert decisions([replace(MARTINI, confidence=0.4)], exact_only=True) == [UNDECIDED]
    without = [replace(s, levels=()) for s in rows]
    assert decisions(without) == [ACCEPTED, OPEN]


def test_a_merge_and_a_concept_without_a_suitable_parent_are_not_placed_coarsely() -> None:
    merge = replace(MARTINI, kind=SuggestionKind.MERGE, levels=())
    decided = decide([merge, replace(OTHER, rank=2)], Acceptance(), MENU)
    assert [s.decision for s in decided] == [OPEN, OPEN]
    nowhere = [replace(s, place=Place.NONE) for s in (MARTINI, OTHER)]
    assert decisions(nowhere) == [UNDECIDED] * 2


def test_the_skipped_part_of_a_long_path_is_not_a_place() -> None:
    labels, others = [f"c{i}" for i in range(60)], [f"d{i}" for i in range(60)]
    relations = [*pairwise(labels), *(("c0", other) for other in others)]
    chain = Taxonomy([Concept(x, x) for x in (*labels, *others)], relations)
    path = chain.short_path("c59")
    levels = (1.0, 0.95, *[0.4] * (len(path) - 2))
    first = replace(MARTINI, parent=Concept("c59", "c59"), path=path, levels=levels)
    assert [s.decision for s in decide([first], Acceptance(), chain)] == [UNDECIDED]
    levels = (1.0, 0.95, 0.92, *[0.4] * (len(path) - 3))
    decided = decide([replace(first, levels=levels)], Acceptance(), chain)
    assert [s.parent.id for s in decided if s.decision == ACCEPTED] == [path[2]] == ["c20"]


def test_a_suggestion_of_another_taxonomy_or_without_branches_has_no_safe_place() -> None:
    elsewhere = replace(MARTINI, parent=Concept("gone", "gone"))
    longer = replace(MARTINI, path=MARTINI.path[1:], levels=MARTINI.levels[1:])
    for changed in (replace(MARTINI, levels=()), elsewhere, longer):
        assert place_safely([changed], 0.5, MENU) == []
        assert coarse_places(changed, MENU) == []
