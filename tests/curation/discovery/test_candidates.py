from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import discovered

from taxoexpan.curation.discovery.candidates import (
    WordKeys,
    choose_candidates,
    cohesion,
    count_phrases,
    phrase_key,
)


def test_words_that_co_occur_by_chance_have_less_cohesion() -> None:
    counts = {"a": 100, "b": 100, "c": 10, "d": 10, "a b": 10, "c d": 10}
    assert cohesion("c d", counts, 1000) == pytest.approx(1)
    assert cohesion("a b", counts, 1000) == pytest.approx(0, abs=1e-9)
    assert cohesion("a", counts, 1000) == 1


def test_the_weakest_split_of_a_phrase_decides_its_cohesion() -> None:
    counts = {"a": 10, "b": 10, "c": 100, "a b": 10, "b c": 1, "a b c": 1}
    assert cohesion("a b c", counts, 1000) < cohesion("a b", counts, 1000)


def test_a_part_of_a_longer_phrase_is_not_a_concept(tmp_path: Path) -> None:
    discoveries = discovered(tmp_path, "We like neural architecture search.")
    assert "neural architecture search" in discoveries
    assert not {"neural architecture", "architecture search"} & discoveries.keys()


def test_a_part_that_also_occurs_alone_is_a_concept(tmp_path: Path) -> None:
    sentences = ["Of style transfer we know.", "To the style transfer of today."]
    discoveries = discovered(tmp_path, "We like text style transfer.", *sentences)
    assert {"style transfer", "text style transfer"} <= discoveries.keys()


@pytest.mark.parametrize(
    "name",
    [
        "natural language processing",
        "Natural-Language Processing",
        "machine translations",
        "speech-recognition",
        "voice typing",
        "grammars",
    ],
)
def test_a_known_name_is_left_out_in_every_spelling(tmp_path: Path, name: str) -> None:
    discoveries = discovered(tmp_path, f"Of {name} we know.", "We like slot filling.")
    assert "slot filling" in discoveries
    assert phrase_key(name) not in map(phrase_key, discoveries)


def test_phrases_of_five_words_are_counted_but_are_not_candidates() -> None:
    phrase_counts = count_phrases(iter(["ab cd ef gh ij kl"] * 5), WordKeys(), workers=1)
    assert phrase_counts.counts["ab cd ef gh ij"] == 5
    assert "ab cd ef gh ij kl" not in phrase_counts.counts
    tracked = choose_candidates(phrase_counts, {"grammar": 0}, 5)
    assert not any("ab cd ef gh" in candidate.spellings for candidate in tracked.candidates)
