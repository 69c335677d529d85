from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import discovered


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
