from __future__ import annotations

from dataclasses import replace

import pytest

from taxoexpan.explain import Evidence, describe, describe_move
from taxoexpan.explain.evidence import (
    EgonetWeights,
    Mention,
    Position,
    RemovedRelation,
    RunnerUpComparison,
    ScoreParts,
    SignalParts,
    SimilarChild,
    SuggestionEvidence,
)
from taxoexpan.features.mentions import MentionKind
from taxoexpan.taxonomy import Concept

SOY, ALMOND = Concept("s", "soy milk"), Concept("a", "almond milk")
PLANT, DRINK, FOOD = Concept("p", "plant milk"), Concept("d", "beverage"), Concept("f", "food")
NO_SCORE = ScoreParts(0.0, 0.0, 0.0)
FIRST = MentionKind.FIRST_IN_DEFINITION


def oat_milk(**changes: object) -> Evidence:
    """Return evidence for oat milk under plant milk with the runner-up beverage, and changes."""
    first = SuggestionEvidence(
        parent=PLANT,
        path=("food", "beverage", "plant milk"),
        score=0.6,
        cosine=0.7,
        head_cosine=1.0,
        shared_words=("milk",),
        nearest_children=(
            SimilarChild(ALMOND, 0.82, ("milk",)),
            SimilarChild(SOY, 0.8, ("milk",)),
        ),
        child_count=2,
        mentions=(),
    )
    second = replace(first, parent=DRINK, path=("food", "beverage"), score=0.3)
    decisive = RemovedRelation(PLANT, SOY, -0.1)
    comparison = RunnerUpComparison(DRINK, NO_SCORE, 0.7, Position.PARENT, decisive)
    for part, values in changes.items():
        if part == "first":
            first = replace(first, **values)  # type: ignore[arg-type]
        elif part == "second":
            second = replace(second, **values)  # type: ignore[arg-type]
        elif part == "comparison":
            comparison = replace(comparison, **values)  # type: ignore[arg-type]
    fused = changes.get("fused")
    if isinstance(fused, SignalParts):
        comparison = replace(comparison, score_parts=SignalParts(1.0, 1.0, 1.0, 1.0, 1.0))
    return Evidence(
        query=Concept("", "oat milk", definition="a beverage of oats"),
        has_vector="unknown" not in changes,
        suggestions=(first, second),
        score_parts=fused if isinstance(fused, SignalParts) else NO_SCORE,
        egonet_weights=EgonetWeights(0.3, 0.3, 0.4, ()),
        comparison=comparison,
    )


SIMILAR = (
    "It is similar to 'almond milk' (0.82) and 'soy milk' (0.80), two children of 'plant milk'. "
)
SHARED = "It shares the word 'milk' with 'plant milk', 'almond milk' and 'soy milk'. "
UNDECIDED = {"decisive_relation": None, "position": Position.ELSEWHERE}


def test_evidence_is_described_in_three_sentences() -> None:
    assert describe(oat_milk()) == (
        "It is similar to 'almond milk' (0.82) and 'soy milk' (0.80), two children of "
        "'plant milk'. It shares the word 'milk' with 'plant milk', 'almond milk' and 'soy milk'. "
        "The runner-up is 'beverage' (a parent of 'plant milk'); it would be preferred if "
        "'soy milk' were not a child of 'plant milk'."
    )


@pytest.mark.parametrize(
    ("first", "sentences"),
    [
        (
            {"nearest_children": (SimilarChild(ALMOND, 0.4, ()),), "shared_words": ()},
            "It is similar to 'almond milk' (0.40), a child of 'plant milk'. "
            "It shares no words with 'plant milk' or 'almond milk'.",
        ),
        (
            {
                "nearest_children": (SimilarChild(ALMOND, -0.014, ()),),
                "cosine": 0.12,
                "shared_words": ("ice", "cream"),
            },
            "Neither 'plant milk' nor its children are similar to it; the nearest child is "
            "'almond milk' (-0.01). It shares the words 'ice' and 'cream' with 'plant milk'.",
        ),
        (
            {
                "nearest_children": (SimilarChild(ALMOND, -0.004, ("d",)),),
                "shared_words": ("a", "b", "c"),
            },
            "It is more similar to 'plant milk' itself (0.70) than to the nearest child, "
            "'almond milk' (0.00). It shares the words 'a', 'b' and 'c' with 'plant milk'.",
        ),
        (
            {"nearest_children": (), "child_count": 0},
            "It is similar to 'plant milk' itself (0.70), which has no children. "
            "It shares the word 'milk' with 'plant milk'.",
        ),
        (
            {"nearest_children": (), "child_count": 0, "cosine": 0.3},
            "It is not very similar to 'plant milk' (0.30), which has no children. "
            "It shares the word 'milk' with 'plant milk'.",
        ),
    ],
)
def test_every_case_of_similarity_and_shared_words(
    first: dict[str, object], sentences: str
) -> None:
    text = describe(oat_milk(first=first, comparison=UNDECIDED))
    assert text == f"{sentences} The runner-up is 'beverage'."


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ((0.5, 0.45), "The runner-up, close behind, is 'beverage'."),
        ((0.5, 0.3), "The runner-up is 'beverage'."),
        ((0.5, 0.1), "The runner-up, far behind, is 'beverage'."),
        ((0.05, 0.04), "The model is unsure. The runner-up is 'beverage'."),
        ((0.05, 0.01), "The runner-up, far behind, is 'beverage'."),
    ],
)
def test_close_and_clear_decisions_are_described_differently(
    scores: tuple[float, float], sentence: str
) -> None:
    changes = {"first": {"score": scores[0]}, "second": {"score": scores[1]}}
    evidence = oat_milk(**changes, comparison=UNDECIDED)
    assert describe(evidence) == f"{SIMILAR}{SHARED}{sentence}"


@pytest.mark.parametrize(
    ("relation", "effect"),
    [
        (
            RemovedRelation(PLANT, SOY, 0.3),
            "; it would come closer if 'soy milk' were not a child of 'plant milk'.",
        ),
        (RemovedRelation(PLANT, SOY, 0.4), "."),
        (
            RemovedRelation(PLANT, Concept("r", "rice milk"), -0.1),
            "; it would be preferred if 'rice milk' were not a child of 'plant milk'.",
        ),
        (
            RemovedRelation(DRINK, Concept("t", "tea"), -0.1),
            "; it would be preferred if 'tea' were not its child.",
        ),
        (
            RemovedRelation(FOOD, PLANT, -0.1),
            "; it would be preferred if 'plant milk' were not a child of 'food'.",
        ),
        (
            RemovedRelation(FOOD, DRINK, -0.1),
            "; it would be preferred if it were not a child of 'food'.",
        ),
        (
            RemovedRelation(DRINK, PLANT, -0.1),
            "; it would be preferred if 'plant milk' were not its child.",
        ),
        (
            RemovedRelation(PLANT, DRINK, -0.1),
            "; it would be preferred if it were not a child of 'plant milk'.",
        ),
    ],
)
def test_the_decisive_relation_is_described_from_the_runner_up(
    relation: RemovedRelation, effect: str
) -> None:
    comparison = {"decisive_relation": relation, "position": Position.ELSEWHERE}
    text = describe(oat_milk(comparison=comparison))
    assert text == f"{SIMILAR}{SHARED}The runner-up is 'beverage'{effect}"


def test_a_runner_up_with_the_same_label_is_named_with_its_parent() -> None:
    second = {"parent": replace(DRINK, label="Plant milk"), "path": ("food", "dairy", "Plant milk")}
    comparison = {"decisive_relation": None, "position": Position.SIBLING}
    assert describe(oat_milk(second=second, comparison=comparison)).endswith(
        "The runner-up is another 'Plant milk' (under 'dairy')."
    )
    root = {**second, "path": ("Plant milk",)}
    assert describe(oat_milk(second=root, comparison=comparison)).endswith(
        "The runner-up is another 'Plant milk' (at the top level)."
    )


@pytest.mark.parametrize(
    ("position", "name"),
    [
        (Position.PARENT, "'beverage' (a parent of 'plant milk')"),
        (Position.CHILD, "'beverage' (a child of 'plant milk')"),
        (Position.SIBLING, "'beverage' (a sibling of 'plant milk')"),
        (Position.ELSEWHERE, "'beverage'"),
    ],
)
def test_the_runner_up_is_named_with_its_position(position: Position, name: str) -> None:
    comparison = {"decisive_relation": None, "position": position}
    assert describe(oat_milk(comparison=comparison)).endswith(f"The runner-up is {name}.")


@pytest.mark.parametrize(
    ("kind", "label", "sentence"),
    [
        (FIRST, "milk", "The first concept that its definition mentions is 'milk'."),
        (
            MentionKind.SECOND_IN_DEFINITION,
            "milk",
            "The second concept that its definition mentions is 'milk'.",
        ),
        (MentionKind.NAME_ENDING, "Milks", "Its label ends with 'Milks'."),
        (
            MentionKind.NAME_ENDING,
            "dairy drink",
            "Its label ends with a synonym of 'dairy drink'.",
        ),
        (
            MentionKind.NAME_ENDING_OTHER_SENSE,
            "milk",
            "Its label ends with 'milk', but in a less common sense.",
        ),
        (MentionKind.SAME_NAME, "milk", "Its label is also a name of 'milk'."),
    ],
)
def test_a_mention_is_described_instead_of_shared_words(
    kind: MentionKind, label: str, sentence: str
) -> None:
    mentions = (Mention(kind, 2.0), Mention(FIRST, -1.0))
    first = {"mentions": mentions, "parent": replace(PLANT, label=label)}
    similar = SIMILAR.replace("plant milk", label)
    assert describe(oat_milk(first=first)).startswith(f"{similar}{sentence} ")
    negative = {"mentions": (Mention(FIRST, -1.0),)}
    assert describe(oat_milk(first=negative)).startswith(SIMILAR + SHARED)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((1.1, 3.0, 1.0, 1.2, 0.0), " The fine-tuned encoder made the difference."),
        (
            (2.0, 2.5, 3.0, 1.0, 1.0),
            " The similarity of the names and the fine-tuned encoder made the difference.",
        ),
        ((3.0, 1.0, 1.0, 1.0, 2.0), " The network and the number of children made the difference."),
        ((1.0, 1.0, 1.0, 2.0, 1.0), " The shared word 'milk' made the difference."),
        ((1.0, 1.0, 1.0, 1.0, 1.0), ""),
    ],
)
def test_the_signals_that_decided_are_named(
    parts: tuple[float, float, float, float, float], sentence: str
) -> None:
    second = {"shared_words": ("beverage",)}
    evidence = oat_milk(fused=SignalParts(*parts), second=second, comparison=UNDECIDED)
    assert describe(evidence) == f"{SIMILAR}{SHARED}The runner-up is 'beverage'.{sentence}"


@pytest.mark.parametrize(
    ("first", "second", "phrase"),
    [
        (("oat", "milk"), (), "The shared words 'oat' and 'milk'"),
        (("oat", "milk"), ("milk",), "The shared word 'oat'"),
        (("milk",), ("milk",), "The words of the labels"),
        (("beverage",), (), "The words of the labels"),  # a word of the definition
    ],
)
def test_decisive_words_are_those_of_the_label_that_the_runner_up_does_not_share(
    first: tuple[str, ...], second: tuple[str, ...], phrase: str
) -> None:
    evidence = oat_milk(
        fused=SignalParts(1.0, 1.0, 1.0, 2.0, 1.0),
        first={"shared_words": first},
        second={"shared_words": second},
    )
    assert describe(evidence).endswith(f". {phrase} made the difference.")


def test_the_signals_that_decided_for_a_move_are_named_unless_it_is_unclear() -> None:
    parts, sentence = SignalParts(1.0, 3.0, 1.0, 1.0, 1.0), "The fine-tuned encoder made the"
    assert sentence in describe_move(oat_milk(fused=parts))
    assert sentence not in describe_move(oat_milk(fused=parts, second={"score": 0.59}))
    assert sentence not in describe_move(oat_milk(fused=parts, comparison={"margin": -0.4}))


def test_nothing_is_claimed_about_a_query_without_a_vector() -> None:
    evidence = oat_milk(unknown=True, first={"shared_words": (), "nearest_children": ()})
    expected = (
        "None of its words is known to the model, so this suggestion is a guess. "
        "It shares no words with 'plant milk'."
    )
    assert describe(evidence) == expected
    assert describe_move(evidence) == expected


def test_a_better_parent_is_compared_with_the_current_one() -> None:
    comparison = {"position": Position.SIBLING}
    tea = SimilarChild(Concept("t", "green tea"), 0.21, ())
    second = {"nearest_children": (tea,), "shared_words": ()}
    assert describe_move(oat_milk(second=second, comparison=comparison)) == (
        f"{SIMILAR}{SHARED}It is now under 'beverage' (a sibling of 'plant milk'), where the "
        "nearest child is 'green tea' (0.21). The current parent would be preferred if 'soy milk' "
        "were not a child of 'plant milk'."
    )


@pytest.mark.parametrize(
    ("second", "sentences"),
    [
        (
            {"nearest_children": (SimilarChild(SOY, 0.3, ("milk",)),), "shared_words": ("oat",)},
            "It is now under 'beverage', where the nearest child is 'soy milk' (0.30). "
            "It shares the words 'oat' and 'milk' with 'beverage' and 'soy milk'.",
        ),
        (
            {"nearest_children": (), "child_count": 4, "shared_words": ("oat",), "cosine": 0.5},
            "It is now under 'beverage', whose other children were held out too; it is similar "
            "to it (0.50). It shares the word 'oat' with 'beverage'.",
        ),
        (
            {"nearest_children": (), "child_count": 0, "shared_words": (), "cosine": 0.1},
            "It is now the only child of 'beverage' and is not very similar to it (0.10).",
        ),
    ],
)
def test_every_case_of_the_current_parent(second: dict[str, object], sentences: str) -> None:
    evidence = oat_milk(second=second, comparison=UNDECIDED)
    assert describe_move(evidence) == f"{SIMILAR}{SHARED}{sentences}"


@pytest.mark.parametrize(
    ("cosine", "sentence"),
    [
        (
            0.7,
            "It is similar to 'plant milk' itself (0.70), whose children were held out with it. ",
        ),
        (
            0.3,
            "It is not very similar to 'plant milk' (0.30), whose children were held out with it. ",
        ),
    ],
)
def test_held_out_children_are_not_described_as_missing(cosine: float, sentence: str) -> None:
    first = {"nearest_children": (), "child_count": 2, "cosine": cosine}
    assert describe_move(oat_milk(first=first)).startswith(sentence)


@pytest.mark.parametrize(
    ("score", "margin", "sentence"),
    [
        (0.1, 0.7, ""),
        (0.55, 0.7, " Both parents are about equally likely."),
        (0.9, -0.4, " The model still prefers the current parent."),
    ],
)
def test_a_parent_that_is_hardly_better_is_described_as_such(
    score: float, margin: float, sentence: str
) -> None:
    relation = RemovedRelation(PLANT, SOY, 0.4)
    comparison = {"decisive_relation": relation, "margin": margin}
    second = {"score": score, "shared_words": ()}
    text = describe_move(oat_milk(second=second, comparison=comparison))
    assert text.partition("the nearest child is 'almond milk' (0.82). ")[2] == (
        f"It shares the word 'milk' with 'almond milk'.{sentence}"
    )
