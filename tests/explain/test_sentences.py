from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from taxoexpan.explain import Evidence, describe, describe_move
from taxoexpan.explain.evidence import (
    NETWORK_PARTS,
    SIGNAL_PARTS,
    Mention,
    Position,
    RunnerUpComparison,
    SimilarChild,
    SuggestionEvidence,
)
from taxoexpan.features.mentions import MentionKind
from taxoexpan.taxonomy import Concept

SOY, ALMOND = Concept("s", "soy milk"), Concept("a", "almond milk")
PLANT, DRINK, FOOD = Concept("p", "plant milk"), Concept("d", "beverage"), Concept("f", "food")
NO_SCORE = dict.fromkeys(NETWORK_PARTS, 0.0)
FIRST = MentionKind.FIRST_IN_DEFINITION


def oat_milk(fused: Sequence[float] | None = None, **changes: object) -> Evidence:
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
    comparison = RunnerUpComparison(DRINK, NO_SCORE, 0.7, Position.PARENT)
    for part, values in changes.items():
        if part == "first":
            first = replace(first, **values)  # type: ignore[arg-type]
        elif part == "second":
            second = replace(second, **values)  # type: ignore[arg-type]
        elif part == "comparison":
            comparison = replace(comparison, **values)  # type: ignore[arg-type]
    parts = NO_SCORE
    if fused is not None:
        parts = dict(zip(SIGNAL_PARTS, fused, strict=True))
        comparison = replace(comparison, score_parts=dict.fromkeys(SIGNAL_PARTS, 1.0))
    return Evidence(
        query=Concept("", "oat milk", definition="a beverage of oats"),
        has_vector="unknown" not in changes,
        suggestions=(first, second),
        score_parts=parts,
        comparison=comparison,
    )


SIMILAR = (
    "It is similar to 'almond milk' (0.82) and 'soy milk' (0.80), two children of 'plant milk'. "
)
SHARED = "It shares the word 'milk' with 'plant milk', 'almond milk' and 'soy milk'. "
ELSEWHERE = {"position": Position.ELSEWHERE}


def only(concept: Concept, cosine: float, *words: str) -> tuple[SimilarChild]:
    return (SimilarChild(concept, cosine, words),)


def test_evidence_is_described_in_three_sentences() -> None:
    assert describe(oat_milk()) == (
        f"{SIMILAR}{SHARED}The runner-up is 'beverage' (a parent of 'plant milk')."
    )


@pytest.mark.parametrize(
    ("first", "start", "words"),
    [
        (
            {"nearest_children": only(ALMOND, 0.4), "shared_words": ()},
            "It is similar to 'almond milk' (0.40), a child of",
            "no words with 'plant milk' or 'almond milk'",
        ),
        (
            {
                "nearest_children": only(ALMOND, -0.014),
                "cosine": 0.12,
                "shared_words": ("ice", "cream"),
            },
            "Neither 'plant milk' nor its children are similar to it; the nearest child is "
            "'almond milk' (-0.01).",
            "the words 'ice' and 'cream' with 'plant milk'",
        ),
        (
            {"nearest_children": only(ALMOND, -0.004, "d"), "shared_words": ("a", "b", "c")},
            "It is more similar to 'plant milk' itself (0.70) than to the nearest child, "
            "'almond milk' (0.00).",
            "the words 'a', 'b' and 'c' with 'plant milk'",
        ),
        (
            {"nearest_children": (), "child_count": 0},
            "It is similar to 'plant milk' itself (0.70), which has no children.",
            "the word 'milk' with 'plant milk'",
        ),
        (
            {"nearest_children": (), "child_count": 0, "cosine": 0.3},
            "It is not very similar to 'plant milk' (0.30), which has no children.",
            "the word 'milk' with 'plant milk'",
        ),
        (
            {"nearest_children": (), "child_count": 2},
            "It is similar to 'plant milk' itself (0.70), whose children were held out with it.",
            "the word 'milk' with 'plant milk'",
        ),
    ],
)
def test_every_case_of_similarity_and_shared_words(
    first: dict[str, object], start: str, words: str
) -> None:
    text = describe(oat_milk(first=first, comparison=ELSEWHERE))
    assert text.startswith(start)
    assert text.endswith(f". It shares {words}. The runner-up is 'beverage'.")


@pytest.mark.parametrize(
    ("scores", "start"),
    [
        ((0.5, 0.45), "The runner-up, close behind,"),
        ((0.5, 0.3), "The runner-up"),
        ((0.5, 0.1), "The runner-up, far behind,"),
        ((0.05, 0.04), "The model is unsure. The runner-up"),
        ((0.05, 0.01), "The runner-up, far behind,"),
    ],
)
def test_close_and_clear_decisions_are_described_differently(
    scores: tuple[float, float], start: str
) -> None:
    changes = {"first": {"score": scores[0]}, "second": {"score": scores[1]}}
    evidence = oat_milk(**changes, comparison=ELSEWHERE)
    assert describe(evidence) == f"{SIMILAR}{SHARED}{start} is 'beverage'."


@pytest.mark.parametrize(
    ("path", "where"),
    [(("food", "dairy", "Plant milk"), "under 'dairy'"), (("Plant milk",), "at the top level")],
)
def test_a_runner_up_with_the_same_label_is_named_with_its_parent(
    path: tuple[str, ...], where: str
) -> None:
    second = {"parent": replace(DRINK, label="Plant milk"), "path": path}
    text = describe(oat_milk(second=second, comparison={"position": Position.SIBLING}))
    assert text.endswith(f" is another 'Plant milk' ({where}).")


@pytest.mark.parametrize("position", Position)
def test_the_runner_up_is_named_with_its_position(position: Position) -> None:
    shown = "" if position == Position.ELSEWHERE else f" (a {position} of 'plant milk')"
    assert describe(oat_milk(comparison={"position": position})).endswith(f" is 'beverage'{shown}.")


@pytest.mark.parametrize(
    ("kind", "label", "sentence"),
    [
        (FIRST, "milk", "The first concept that its definition mentions is 'milk'"),
        (
            MentionKind.SECOND_IN_DEFINITION,
            "milk",
            "The second concept that its definition mentions is 'milk'",
        ),
        (MentionKind.NAME_ENDING, "Milks", "Its label ends with 'Milks'"),
        (MentionKind.NAME_ENDING, "dairy", "Its label ends with a synonym of 'dairy'"),
        (
            MentionKind.NAME_ENDING_OTHER_SENSE,
            "milk",
            "Its label ends with 'milk', but in a less common sense",
        ),
        (MentionKind.SAME_NAME, "milk", "Its label is also a name of 'milk'"),
    ],
)
def test_a_mention_is_described_instead_of_shared_words(
    kind: MentionKind, label: str, sentence: str
) -> None:
    mentions = (Mention(kind, 2.0), Mention(FIRST, -1.0))
    first = {"mentions": mentions, "parent": replace(PLANT, label=label)}
    text = describe(oat_milk(first=first))
    assert f". {sentence}. " in text
    assert "shares" not in text
    assert SHARED in describe(oat_milk(first={"mentions": mentions[1:]}))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((1.1, 3.0, 1.0, 1.2, 0.0), " The text encoder made the difference."),
        (
            (2.0, 2.5, 3.0, 1.0, 1.0),
            " The similarity of the names and the text encoder made the difference.",
        ),
        ((3.0, 1.0, 1.0, 1.0, 2.0), " The network and the number of children made the difference."),
        ((1.0, 1.0, 1.0, 2.0, 1.0), " The shared word 'milk' made the difference."),
        ((1.0, 1.0, 1.0, 1.0, 1.0), ""),
    ],
)
def test_the_signals_that_decided_are_named(parts: tuple[float, ...], sentence: str) -> None:
    second = {"shared_words": ("beverage",)}
    evidence = oat_milk(parts, second=second, comparison=ELSEWHERE)
    assert describe(evidence).endswith(f"The runner-up is 'beverage'.{sentence}")


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
    words = {"first": {"shared_words": first}, "second": {"shared_words": second}}
    text = describe(oat_milk((1.0, 1.0, 1.0, 2.0, 1.0), **words))
    assert text.endswith(f". {phrase} made the difference.")


def test_the_signals_that_decided_for_a_move_are_named_unless_it_is_unclear() -> None:
    parts, sentence = (1.0, 3.0, 1.0, 1.0, 1.0), "The text encoder made the"
    assert sentence in describe_move(oat_milk(parts))
    assert sentence not in describe_move(oat_milk(parts, second={"score": 0.59}))
    assert sentence not in describe_move(oat_milk(parts, comparison={"margin": -0.4}))


def test_nothing_is_claimed_about_a_query_without_a_vector() -> None:
    evidence = oat_milk(unknown=True, first={"shared_words": (), "nearest_children": ()})
    text = describe(evidence)
    assert text.startswith("None of its words is known")
    assert text.endswith("It shares no words with 'plant milk'.")
    assert describe_move(evidence) == text


@pytest.mark.parametrize(
    ("second", "sentences"),
    [
        (
            {"nearest_children": only(SOY, 0.3, "milk"), "shared_words": ("oat",)},
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
    evidence = oat_milk(second=second, comparison=ELSEWHERE)
    assert describe_move(evidence) == f"{SIMILAR}{SHARED}{sentences}"


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
    second = {"score": score, "shared_words": ()}
    text = describe_move(oat_milk(second=second, comparison={"margin": margin}))
    assert text.endswith(f" It shares the word 'milk' with 'almond milk'.{sentence}")
