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


@pytest.mark.parametrize("wrong", [3, None, " ", Concept("t", "")])
def test_what_is_neither_a_label_nor_a_concept_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="is not a label or a Concept"):
        as_concepts([wrong])  # type: ignore[list-item]
