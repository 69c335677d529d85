from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import FIELD, corpus, discovered, texts
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.curation.discovery import candidates
from taxoexpan.curation.discovery.candidates import (
    MAX_PHRASE_WORDS,
    Candidate,
    TrackedPhrases,
    WordKeys,
    tokenized_sentences,
)
from taxoexpan.curation.discovery.observations import (
    MAX_EXAMPLE_LENGTH,
    Count,
    find_abbreviations,
    find_definition,
    is_abbreviation,
    observe_phrases,
)
from taxoexpan.curation.discovery.term_discovery import discover


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
    counts = dict(zip(Count, observations.counts[:, 0].tolist(), strict=True))
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


def test_a_long_text_is_counted_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = texts(
        "Style transfer (ST) is the task of writing a text again.", "Of slot filling."
    )
    path = corpus(tmp_path, [" ".join(documents), *documents])
    whole = discover(path, FIELD, workers=1)
    monkeypatch.setattr(candidates, "BATCH_SIZE", 9)
    assert discover(path, FIELD, workers=1) == whole
    assert {one.documents for one in whole} >= {13}


PHRASES = st.lists(
    st.sampled_from(["red", "tea", "pot"]), min_size=1, max_size=MAX_PHRASE_WORDS + 1
)
TEXT = st.lists(st.sampled_from(["red", "teas", "pot", "lid", "the", "of", ".", "Pot"]))


@given(st.lists(PHRASES, max_size=8), st.lists(TEXT, max_size=3))
@quickly
def test_the_mentions_are_the_ones_that_a_slow_search_finds(
    phrases: list[list[str]], documents: list[list[str]]
) -> None:
    numbers = {phrase: i for i, phrase in enumerate(dict.fromkeys(map(" ".join, phrases)))}
    tracked = TrackedPhrases([Candidate((p,), 1, 1) for p in numbers], [], frozenset(), numbers)
    documents_as_text = [" ".join(document) for document in documents]
    keys, expected = WordKeys(), [0] * len(numbers)
    for text in documents_as_text:
        for _, tokens in tokenized_sentences(text):
            found = [keys[token] or "." for token in tokens]
            for start in range(len(found)):
                for end in range(start + 1, min(len(found), start + MAX_PHRASE_WORDS) + 1):
                    number = numbers.get(" ".join(found[start:end]))
                    if number is not None:
                        expected[number] += 1
    observations = observe_phrases(iter(documents_as_text), keys, tracked, workers=1)
    assert observations.counts[Count.MENTIONS].tolist() == expected


@pytest.mark.parametrize(
    ("sentence", "subject", "text"),
    [
        (
            "Slot filling is the task of finding values in an utterance.",
            "Slot filling",
            "the task of finding values in an utterance",
        ),
        (
            "Word embeddings are vectors that stand for the meaning of words.",
            "Word embeddings",
            "vectors that stand for the meaning of words",
        ),
        (
            "Federated learning (FL) refers to training without bringing data together.",
            "Federated learning",
            "training without bringing data together",
        ),
        (
            "A treebank is a corpus in which every sentence has a tree.",
            "treebank",
            "a corpus in which every sentence has a tree",
        ),
        (
            "Stance detection aims to find what an author thinks of a target.",
            "Stance detection",
            "aims to find what an author thinks of a target",
        ),
        (
            "We use LoRA, a method that adapts models with few parameters, and more.",
            "We use LoRA",
            "a method that adapts models with few parameters",
        ),
    ],
)
def test_a_definition_is_found_in_its_sentence(sentence: str, subject: str, text: str) -> None:
    definition = find_definition(sentence)
    assert definition is not None
    assert (definition.subject, definition.text) == (subject, text)


@pytest.mark.parametrize(
    "sentence",
    [
        "Slot filling is an important task of the present day and age.",
        "Slot filling is hard.",
        "The shared task aims to bring people together in one room.",
        "Given a news article, the system finds things that nobody else would find.",
        "They are trained and evaluated with features that come from a corpus.",
        "Nothing is said here of anything.",
    ],
)
def test_an_evaluation_is_not_a_definition(sentence: str) -> None:
    definition = find_definition(sentence)
    assert definition is None or definition.subject not in ("Slot filling", "shared task")


def test_a_definition_belongs_only_to_its_subject(tmp_path: Path) -> None:
    sentences = (
        "Slot filling is the task of finding values in an utterance.",
        "The goal of intent detection is the success of a company in the market.",
    )
    discoveries = discovered(tmp_path, *sentences)
    assert discoveries["slot filling"].definition == "the task of finding values in an utterance"
    assert discoveries["intent detection"].definition == ""


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("NMT", "neural machine translation"),
        ("TTS", "text-to-speech"),
        ("ABSA", "aspect-based sentiment analysis"),
        ("KPG", "keyphrase generation"),
        ("DocRE", "document-level relation extraction"),
    ],
)
def test_an_abbreviation_matches_its_words(short: str, words: str) -> None:
    assert is_abbreviation(short, words.split())


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("NMT", "machine translation"),
        ("NMT", "novel neural machine translation"),
        ("NMT", "neural machine"),
        ("BERT", "language model"),
        ("LM", ""),
    ],
)
def test_an_abbreviation_does_not_match_other_words(short: str, words: str) -> None:
    assert not is_abbreviation(short, words.split())


def test_an_abbreviation_in_brackets_is_found_in_the_singular() -> None:
    tokens = ["models", "(", "LLMs", ")", "and", "(", "Smith", ",", "2020", ")"]
    assert list(find_abbreviations(tokens)) == [(1, "LLM")]
