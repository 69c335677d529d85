from __future__ import annotations

import pytest

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

DRINK, TEA, GREEN, MATCHA = (
    Concept("0", "drink"),
    Concept("1", "tea", ("cha",)),
    Concept("2", "green tea"),
    Concept("3", "matcha"),
)
OLD = Taxonomy([DRINK, TEA, MATCHA], [("1", "3"), ("0", "3")])


def test_new_synonyms_come_after_those_of_the_concept() -> None:
    additions = Additions([], [], synonyms=[("1", "chai"), ("3", "maccha"), ("1", "thé")])
    assert additions.names == {"1": ["chai", "thé"], "3": ["maccha"]}
    new = OLD.expanded(additions)
    assert [c.synonyms for c in new.concepts] == [(), ("cha", "chai", "thé"), ("maccha",)]
    assert list(new.relations) == list(OLD.relations)


def test_a_moved_child_keeps_its_other_parents() -> None:
    additions = Additions([GREEN], [("1", "2")], moves=[Move("3", "1", "2")])
    new = OLD.expanded(additions)
    assert list(new.concepts) == [DRINK, TEA, MATCHA, GREEN]
    assert list(new.relations) == [("2", "3"), ("0", "3"), ("1", "2")]


def test_a_child_moves_only_to_a_new_child_of_its_old_parent() -> None:
    additions = Additions([GREEN], [("0", "2")], moves=[Move("3", "1", "2")])
    with pytest.raises(TaxonomyError, match="cannot move '3' from '1' to '2'; the new concept"):
        OLD.expanded(additions)
