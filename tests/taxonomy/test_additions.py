from __future__ import annotations

import pytest

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Additions, Concept, Move

TEA, GREEN, MATCHA = (
    Concept("1", "tea", ("cha",)),
    Concept("2", "green tea"),
    Concept("3", "matcha"),
)
OLD = [("1", "3"), ("0", "3")]


def test_new_synonyms_come_after_those_of_the_concept() -> None:
    additions = Additions([], [], synonyms=[("1", "chai"), ("3", "maccha"), ("1", "thé")])
    assert additions.names == {"1": ["chai", "thé"], "3": ["maccha"]}
    concepts, relations = additions.extend([TEA, MATCHA], OLD)
    assert [concept.synonyms for concept in concepts] == [("cha", "chai", "thé"), ("maccha",)]
    assert relations == OLD


def test_a_moved_child_keeps_its_other_parents() -> None:
    additions = Additions([GREEN], [("1", "2")], moves=[Move("3", "1", "2")])
    concepts, relations = additions.extend([TEA, MATCHA], OLD)
    assert concepts == [TEA, MATCHA, GREEN]
    assert relations == [("2", "3"), ("0", "3"), ("1", "2")]


def test_a_child_moves_only_to_a_new_child_of_its_old_parent() -> None:
    additions = Additions([GREEN], [("0", "2")], moves=[Move("3", "1", "2")])
    with pytest.raises(TaxonomyError, match="cannot move '3' from '1' to '2'; the new concept"):
        additions.extend([TEA, MATCHA], OLD)
