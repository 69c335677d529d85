from __future__ import annotations

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.concept import as_concepts


def test_labels_become_concepts_and_concepts_stay() -> None:
    tea = Concept("t", "tea", ("chai",))
    assert as_concepts(["milk", tea]) == [Concept("", "milk"), tea]
    assert as_concepts(label for label in ("a", "b")) == [Concept("", "a"), Concept("", "b")]
    assert as_concepts([]) == []


@pytest.mark.parametrize("one", ["tea", Concept("t", "tea"), {"tea": 1}, 3, None])
def test_what_is_not_a_list_is_refused(one: object) -> None:
    with pytest.raises(ConfigurationError, match="is not a list; give a list"):
        as_concepts(one)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (3, "is not a label or a Concept"),
        (None, "is not a label or a Concept"),
        (" ", "has no name"),
        ("", "has no name"),
        (Concept("t", ""), "has no name"),
        ("\ud800", "lone surrogate"),
        (Concept("", "tea", ("\ud800",)), "lone surrogate"),
        (Concept("", "tea", (), "a \udfff"), "lone surrogate"),
    ],
)
def test_a_wrong_element_is_refused_with_its_position(wrong: object, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=f"number 2 of the list.*{problem}"):
        as_concepts(["milk", wrong])  # type: ignore[list-item]
