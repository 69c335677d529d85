"""Properties of decisions, whatever the suggestions and the options are."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import Concept, Suggestion
from taxoexpan.decisions.additions import to_additions
from taxoexpan.decisions.decision import Leave, Merge, Place, Reject, decide, marked
from taxoexpan.decisions.policies import policy_of
from tests.support.builders import tree
from tests.support.decisions import SuggestionKind, Suitability, Verdict

FOOD = tree("food > fruit > apple", "food > drink > tea > green tea", "food > drink > oat milk")
NEW = [Concept(f"n{i}", name) for i, name in enumerate(("milk", "kiwi", "teas", "apple"))]
FRACTIONS = st.integers(0, 100).map(lambda percent: percent / 100)
OPTIONS = st.fixed_dictionaries(
    {"allow_moves": st.booleans(), "allow_merges": st.booleans()},
    optional={
        "top_k": st.integers(1, 3),
        "min_score": FRACTIONS,
        "min_confidence": FRACTIONS,
        "exact_only": st.booleans(),
    },
)


@st.composite
def suggestions_for(draw: st.DrawFn, concept: Concept, verdicts: bool) -> list[Suggestion]:
    """Ranked suggestions for a concept, as a model makes them, on request with verdicts."""
    parents = draw(st.lists(st.sampled_from(FOOD.ids), min_size=1, max_size=3, unique=True))
    confidences = sorted((draw(FRACTIONS) for _ in parents), reverse=True)
    has_levels = draw(st.booleans())
    place = draw(st.sampled_from(Suitability))
    rows = []
    for rank, (parent, confidence) in enumerate(zip(parents, confidences, strict=True), start=1):
        values: dict[str, Any] = {"place": place}
        kinds = ["attach", "attach", "merge", "similar", "insert"] if rank == 1 else ["attach"]
        values["kind"] = SuggestionKind(draw(st.sampled_from(kinds)))
        if values["kind"] == "insert":
            values["moves"] = FOOD.children(parent)[:1]
        if has_levels and values["kind"] in ("attach", "insert"):
            depth = len(FOOD.path(parent))
            values["levels"] = tuple(max(confidence, 1 - i / 10) for i in range(depth))
        if verdicts:
            values["decision"] = draw(st.sampled_from(Verdict))
        index = FOOD.index(parent)
        made = Suggestion.at(FOOD, concept, index, rank, confidence=confidence, **values)
        rows.append(made)
    return rows


def rows(verdicts: bool) -> st.SearchStrategy[list[Suggestion]]:
    """Suggestions for all new concepts."""
    each = st.tuples(*(suggestions_for(concept, verdicts) for concept in NEW))
    return each.map(lambda groups: [row for group in groups for row in group])


@given(rows(verdicts=True), OPTIONS)
def test_each_concept_is_added_merged_present_left_or_rejected(
    suggestions: list[Suggestion], options: dict[str, Any]
) -> None:
    decisions = decide(FOOD, suggestions, policy_of(**options))
    outcome = to_additions(FOOD, decisions)
    added = {concept.id for concept in outcome.additions.concepts}
    present = {concept.id for concept, _ in outcome.already_present}
    placed = {each.query.id for each in decisions if isinstance(each, Place)}
    others = [each.query.id for each in decisions if isinstance(each, Merge | Leave | Reject)]
    assert added | present == placed
    assert Counter([*added, *present, *others]) == Counter(concept.id for concept in NEW)


@given(rows(verdicts=True), OPTIONS)
def test_old_relations_stay_unless_moves_are_allowed(
    suggestions: list[Suggestion], options: dict[str, Any]
) -> None:
    decisions = decide(FOOD, suggestions, policy_of(**options))
    new = FOOD.expanded(to_additions(FOOD, decisions).additions)
    for id in FOOD:
        if not options["allow_moves"]:
            assert new.parents(id) == FOOD.parents(id)
        assert set(new.ancestors(id)) >= set(FOOD.ancestors(id))


@given(rows(verdicts=False), OPTIONS)
def test_what_a_policy_has_decided_is_applied_again_as_it_is(
    suggestions: list[Suggestion], options: dict[str, Any]
) -> None:
    """The file of suggestions that `expand` writes leads to what it has added."""
    # A merge is decided by the permission, not by the file.
    merged = {s.query.id for s in suggestions if s.is_merge}
    suggestions = [s for s in suggestions if s.query.id not in merged]
    decisions = decide(FOOD, suggestions, policy_of(**options))
    permissions = {name: options[name] for name in ("allow_moves", "allow_merges")}
    again = decide(FOOD, marked(suggestions, decisions), policy_of(**permissions))
    first, second = (to_additions(FOOD, each).additions for each in (decisions, again))
    assert first.concepts == second.concepts
    assert first.relations == second.relations
    assert first.moves == second.moves


@given(rows(verdicts=False))
def test_without_options_nothing_unsuitable_or_similar_is_added(
    suggestions: list[Suggestion],
) -> None:
    decisions = decide(FOOD, suggestions, policy_of())
    for decision in decisions:
        if isinstance(decision, Place):
            assert not any(s.place == Suitability.NONE for s in decision.suggestions)
            assert not any(s.kind == SuggestionKind.SIMILAR for s in decision.suggestions)
        assert not isinstance(decision, Merge)
