from __future__ import annotations

from collections import Counter
from pathlib import Path

from discovery_corpus import FIELD, corpus, texts
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.curation.discovery.candidates import (
    PhraseCounts,
    WordKeys,
    count_phrases,
    phrase_key,
    spelling_key,
)
from taxoexpan.curation.discovery.term_discovery import discover


def test_keys_are_the_same_for_all_forms_of_a_word() -> None:
    keys = WordKeys()
    assert keys["Models"] == keys["model"] == keys["model's"] == "model"
    assert keys["LLMs"] == keys["LLM"] == "llm"
    for bound in ("the", ",", "2020", "quickly", "don't", "\\textbf", "https://example.org"):
        assert keys[bound] is None
    assert WordKeys({"assembly"})["assembly"] == "assembly"


def test_names_are_compared_without_plurals_hyphens_and_spaces() -> None:
    assert phrase_key("Pre-trained Models") == phrase_key("pretrained model")
    assert spelling_key("data labelling") == spelling_key("data labeling")
    assert spelling_key("tour") != spelling_key("tor")


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=20), st.integers(1, 12))
@quickly
def test_the_number_of_phrases_and_the_error_of_counts_are_bounded(
    blocks: list[list[int]], capacity: int
) -> None:
    phrase_counts, true = PhraseCounts(capacity), Counter[str]()
    for block in blocks:
        counts = Counter(map(str, block))
        phrase_counts.add(counts)
        true.update(counts)
        assert len(phrase_counts.counts) <= capacity
    for phrase, count in true.items():
        assert count - phrase_counts.max_error <= phrase_counts.counts.get(phrase, 0) <= count


def test_counts_are_exact_if_all_phrases_fit() -> None:
    phrase_counts = count_phrases(iter(["red wine, red wine of red soil"]), WordKeys(), workers=1)
    assert phrase_counts.counts == {"red": 3, "wine": 2, "red wine": 2, "soil": 1, "red soil": 1}
    assert phrase_counts.max_error == 0


def test_frequent_phrases_are_found_with_little_memory(tmp_path: Path) -> None:
    noise = [f"noise{number} thing{number} of stuff{number}." for number in range(600)]
    documents = texts("We like slot filling.", times=60)
    path = corpus(
        tmp_path, [text for pair in zip(documents * 10, noise, strict=True) for text in pair]
    )
    tight = {one.label: one for one in discover(path, FIELD, workers=1, capacity=200)}
    assert tight["slot filling"].count == 600
