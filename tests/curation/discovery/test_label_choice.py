from __future__ import annotations

from pathlib import Path

import pytest
from discovery_corpus import discovered

from taxoexpan.taxonomy import Concept, Taxonomy


def test_an_abbreviation_is_a_synonym_and_not_a_concept(tmp_path: Path) -> None:
    sentences = "Of large graph models (LGMs) we know.", "An LGM of yours, a large graph model."
    discoveries = discovered(tmp_path, *sentences)
    assert discoveries["large graph model"].synonyms == ("LGM",)
    assert not {"LGM", "LGMs"} & discoveries.keys()


def test_the_plural_of_an_abbreviation_is_not_a_synonym(tmp_path: Path) -> None:
    discoveries = discovered(tmp_path, "Of GANs we know.", "By GAN in full.", "The GAN's end.")
    assert discoveries["GAN"].count == 36
    assert discoveries["GAN"].synonyms == ()


def test_spellings_and_plurals_are_one_concept(tmp_path: Path) -> None:
    sentences = [
        "Of image labeling we know.",
        "By image labeling in full.",
        "Of image labelling too.",
    ]
    discoveries = discovered(tmp_path, *sentences, "And image-labelings for them.")
    assert discoveries["image labeling"].count == 48
    assert discoveries["image labeling"].synonyms == ("image labelling",)


def test_a_label_has_only_the_usual_capital_letters(tmp_path: Path) -> None:
    sentences = ["Of Monte Carlo search we know.", "By Monte Carlo Search in full."]
    assert "Monte Carlo search" in discovered(tmp_path, *sentences)


@pytest.mark.parametrize(
    ("labels", "expected"), [(["shirt", "coat"], "felt hat"), (["shirts", "coats"], "felt hats")]
)
def test_a_label_is_singular_or_plural_like_the_known_labels(
    tmp_path: Path, labels: list[str], expected: str
) -> None:
    clothes = Taxonomy([Concept(label, label) for label in labels])
    sentences = "In shirts and coats.", "With a felt hat of yours.", "By felt hats for them."
    assert expected in discovered(tmp_path, *sentences, taxonomy=clothes)
