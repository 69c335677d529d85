from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import FIELD, corpus, discovered, texts

from taxoexpan.curation.discovery import (
    discover,
    phrase_finder,
)
from taxoexpan.curation.discovery import (
    phrase_counts as counting,
)
from taxoexpan.curation.discovery.candidates import (
    Candidate,
    TrackedPhrases,
)
from taxoexpan.curation.discovery.contexts import MAX_EXAMPLE_LENGTH, observe_phrases
from taxoexpan.curation.discovery.observations import Count
from taxoexpan.curation.discovery.words import WordKeys


def test_an_example_is_short_and_contains_the_phrase(tmp_path: Path) -> None:
    long = "With " + "a boat on the river and " * 30 + "the federated learning of today."
    short = "We know of federated learning in the village, and of nothing else that would matter."
    assert discovered(tmp_path, long, short)["federated learning"].example == short
    example = discovered(tmp_path, long)["federated learning"].example
    assert "federated learning" in example
    assert len(example) <= MAX_EXAMPLE_LENGTH + 4


def test_mentions_are_counted_by_the_words_around_them() -> None:
    tracked = TrackedPhrases(
        [Candidate(("tea pot",), 1, 1)], [5], frozenset([1]), {"tea pot": 0, "lid": 1}
    )
    texts = ["Our tea pots. To tea pot a lid is tea pot lid, tea pot", "The tea pot of a lid."]
    observations = observe_phrases(iter(texts), WordKeys(), tracked, workers=1)
    counts = {kind: int(observations.table[0, kind]) for kind in Count}
    assert counts == {
        Count.MENTIONS: 5,
        Count.DOCUMENTS: 2,
        Count.SENTENCES: 3,
        Count.WITH_KNOWN: 2,
        Count.AT_END: 4,
        Count.AS_VERB: 1,
        Count.AFTER_BEING: 1,
        Count.AFTER_POINTING: 1,
    }
    assert (observations.texts, observations.sentences) == (2, 3)


def test_a_text_may_be_longer_than_a_passage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = texts(
        "Style transfer (ST) is the task of writing a text again.", "Of slot filling."
    )
    path = corpus(tmp_path, [" ".join(documents), *documents])
    whole = discover(path, FIELD, workers=1)
    monkeypatch.setattr(phrase_finder, "MAX_PASSAGE_TOKENS", 9)
    monkeypatch.setattr(counting, "BATCH_SIZE", 9)
    assert discover(path, FIELD, workers=1) == whole
    assert {one.documents for one in whole} >= {13}
