from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import FIELD, corpus, discovered, texts

from taxoexpan.curation.discovery.term_discovery import discover


def test_phrases_that_texts_repeat_rank_before_idioms(tmp_path: Path) -> None:
    topics = ("slot filling", "style transfer", "image captioning", "intent detection")
    documents = [
        document
        for topic in topics
        for document in texts(
            f"Of {topic} we know.",
            f"The {topic} of today.",
            f"By {topic} in full.",
            "With a large margin in the end.",
        )
    ]
    labels = [one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)]
    assert set(labels[:4]) == set(topics)
    assert labels.index("large margin") > 3


def test_verbs_rank_below_nouns(tmp_path: Path) -> None:
    sentences = (
        "We outperform the others with slot filling.",
        "To outperform a friend by slot filling.",
    )
    discoveries = discovered(tmp_path, *sentences)
    assert discoveries["outperform"].score < discoveries["slot filling"].score / 10


def test_known_concepts_in_the_same_sentence_raise_the_score(tmp_path: Path) -> None:
    scores = []
    contexts = "speech recognition", "the river"
    for context, other_context in (contexts, contexts[::-1]):
        sentence = f"Slot filling for {context} in the end."
        other = f"Image captioning for {other_context} in the end."
        padding = [f"word{number} of it." for number in range(9000)]
        documents = [*texts(sentence, times=8), *texts(other, times=8), *padding]
        concepts = discover(corpus(tmp_path, documents), FIELD, workers=1)
        scores += [one.score for one in concepts if one.label == "slot filling"]
    assert scores[0] > 1.2 * scores[1]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("relation extraction", "relationship extraction"),  # by its vector and stems
        ("tokenization", "tokenisation"),  # by its spelling
    ],
)
def test_a_likely_duplicate_is_kept_and_marked(tmp_path: Path, name: str, known: str) -> None:
    assert discovered(tmp_path, f"Of {name} we know.")[name].might_duplicate == known


def test_an_abbreviation_of_a_known_name_is_marked(tmp_path: Path) -> None:
    sentences = "Of machine translation (MT) we know.", "For MT in the world, MT of yours."
    assert discovered(tmp_path, *sentences)["MT"].might_duplicate == "machine translation"


def test_a_narrower_concept_is_not_a_duplicate(tmp_path: Path) -> None:
    discoveries = discovered(tmp_path, "Of simultaneous machine translation we know.")
    assert discoveries["simultaneous machine translation"].might_duplicate == ""
