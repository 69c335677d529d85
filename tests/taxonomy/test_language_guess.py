from __future__ import annotations

from collections.abc import Sequence

import pytest

from taxoexpan.taxonomy.language_guess import other_language
from tests.support.bilingual_pantry import ENGLISH, GERMAN, KINDS, SORTS

KNOWN = {
    "en": [f"{sort} {kind}" for sort in SORTS for kind in KINDS],
    "de": [sort + kind for sort in SORTS.values() for kind in KINDS.values()],
}


@pytest.mark.parametrize(
    ("own", "names", "language"),
    [
        ("en", GERMAN, "de"),
        ("de", ENGLISH, "en"),
        ("en", ENGLISH, None),
        ("de", GERMAN, None),
        ("en", GERMAN[:4], None),  # too few
        ("en", [*GERMAN[:5], *ENGLISH], None),  # mixed
        ("en", ["7", "8", "9", "10", "11"], None),  # no language
        ("fr", GERMAN, None),
    ],
)
def test_most_names_must_clearly_look_like_another_language(
    own: str, names: Sequence[str], language: str | None
) -> None:
    found = other_language(KNOWN, own, names)
    assert (found and found.language) == language
    assert found is None or found.count >= 0.7 * len(names)


def test_a_language_with_few_names_is_not_guessed() -> None:
    assert other_language({**KNOWN, "de": KNOWN["de"][:49]}, "en", GERMAN) is None
