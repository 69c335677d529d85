from __future__ import annotations

from taxoexpan.placement.suggesting.feedback import NO_REJECTIONS, Feedback, Rejections
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept
from tests.support.builders import own, star

OAT = Concept("n1", "Oat milk")
REJECTED = Rejections.of(
    [own(OAT, "c1"), own(OAT, "c2", kind=SuggestionKind.MERGE), own("oat-milk", "c9")]
)


def suggestion(parent: str, rank: int, kind: SuggestionKind = SuggestionKind.ATTACH) -> Suggestion:
    return Suggestion(OAT, rank, Concept(parent, parent), (parent,), 0.1, kind=kind)


def test_feedback_without_decisions_is_false() -> None:
    assert not Feedback()
    assert Feedback(accepted=[own(OAT, "milk")])
    assert Feedback(rejected=[own(OAT, "milk")])


def test_a_name_is_the_same_in_any_spelling() -> None:
    assert REJECTED.parents == {"oat milk": ("c1", "c9")}
    assert REJECTED.merges == {"oat milk": ("c2",)}
    assert REJECTED.count == 3


def test_rejected_suggestions_are_removed_and_the_others_move_up() -> None:
    merge = suggestion("c2", 2, SuggestionKind.MERGE)
    suggestions = [suggestion("c1", 1), merge, suggestion("c2", 3), suggestion("c3", 4)]
    kept = REJECTED.filtered(suggestions)
    assert [(s.parent.id, s.rank, s.kind) for s in kept] == [
        ("c2", 1, SuggestionKind.ATTACH),
        ("c3", 2, SuggestionKind.ATTACH),
    ]
    assert NO_REJECTIONS.filtered(suggestions) == suggestions


def test_the_anchors_of_each_concept_are_found_in_the_taxonomy() -> None:
    rows = REJECTED.anchors_of(star(4), [Concept("", "tea"), OAT])
    assert [row.tolist() for row in rows] == [[], [1]]  # there is no c9


def test_later_rejections_are_added_once() -> None:
    assert not NO_REJECTIONS
    joined = REJECTED.joined(Rejections.of([own(OAT, "c1"), own("tea", "c4")]))
    assert joined.parents == {"oat milk": ("c1", "c9"), "tea": ("c4",)}
    assert joined.merges == REJECTED.merges
