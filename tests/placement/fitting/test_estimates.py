from __future__ import annotations

import pytest

from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.features.sentence_model import MAX_TOKENS
from taxoexpan.placement.fitting.preparation import ENCODING, estimate_stages
from taxoexpan.progress import Stage


def foods(count: int, definition: str = "") -> Taxonomy:
    """A root with so many children."""
    concepts = [Concept(str(n), f"kind {n} of milk", definition=definition) for n in range(count)]
    relations = [("food", concept.id) for concept in concepts]
    return Taxonomy([Concept("food", "food"), *concepts], relations)


def stages_of(
    preset: str, taxonomy: Taxonomy | None = None, **settings: object
) -> dict[str, Stage]:
    model = TaxoExpan(preset, device="cpu", **settings)  # type: ignore[arg-type]
    return estimate_stages(taxonomy or foods(99), model._embedder)


@pytest.mark.parametrize(
    ("preset", "settings", "names"),
    [
        ("best", {}, "vectors network tower maps calibration"),
        ("fast", {}, "vectors maps calibration"),
        ("fast", {"compose_anchors": False}, "vectors tower maps calibration"),
        ("best", {"compose_anchors": True}, "vectors network maps calibration"),
        ("thorough", {}, "vectors network fine-tuning tower maps calibration"),
        ("best", {"map_epochs": 0}, "vectors network calibration"),
        ("best", {"learn_fusion": False}, "vectors network calibration"),
        ("best", {"features": "static"}, "vectors network calibration"),
    ],
)
def test_only_stages_that_a_training_has_are_estimated(
    preset: str, settings: dict[str, object], names: str
) -> None:
    stages = stages_of(preset, **settings)
    assert " ".join(stages) == names
    assert all(stage.seconds > 0 for stage in stages.values())


@pytest.mark.parametrize(("joined", "texts"), [(False, (1, 99)), (True, (99, 0))])
def test_definitions_are_texts_of_the_vectors_or_of_the_tower(
    joined: bool, texts: tuple[int, int]
) -> None:
    plain = stages_of("best", join_definitions=joined)
    defined = stages_of("best", foods(99, "a drink " * 9), join_definitions=joined)
    assert plain["vectors"].units == 101  # the labels, and the head word milk
    assert defined["vectors"].units == 101 + texts[0]
    assert (plain["tower"].units, defined["tower"].units) == (100, 100 + texts[1])
    # The definitions are longer than what is read.
    longest = defined["tower"].units * MAX_TOKENS * ENCODING
    assert defined["tower"].seconds == pytest.approx(longest, rel=0.15)
    assert plain["tower"].seconds < 0.7 * 100 * MAX_TOKENS * ENCODING
    assert defined["network"] == plain["network"]


def test_the_frozen_layers_are_a_part_of_the_vectors() -> None:
    plain = stages_of("best")
    tuned = stages_of("best", tower_epochs=1)
    assert tuned["vectors"].units == plain["vectors"].units + 200  # queries and anchors
    assert tuned["vectors"].seconds > plain["vectors"].seconds
    assert tuned["tower"].seconds < plain["tower"].seconds * 2


def test_the_words_of_a_large_taxonomy_are_estimated_from_a_sample() -> None:
    few, many = stages_of("best", foods(4_999)), stages_of("best", foods(19_999))
    for name in ("vectors", "network", "tower", "maps"):
        assert many[name].seconds == pytest.approx(4 * few[name].seconds, rel=0.1)
