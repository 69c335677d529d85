from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import discovered

from taxoexpan.curation.discovery.definitions import (
    find_abbreviations,
    find_definition,
    is_abbreviation,
)


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
