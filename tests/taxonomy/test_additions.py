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


@pytest.mark.parametrize(
    "move",
    [
        Move("3", "1", "2"),  # green tea is not below tea
        Move("1", "0", "2"),  # tea is not below drink
    ],
)
def test_a_child_moves_only_from_its_parent_to_a_new_child_of_it(move: Move) -> None:
    additions = Additions([GREEN], [("0", "2")], moves=[move])
    with pytest.raises(TaxonomyError) as refused:
        OLD.expanded(additions)
    assert f"'{move.child}' from '{move.old_parent}' to '2'" in refused.value.problem


def test_a_synonym_of_an_unknown_concept_is_refused() -> None:
    with pytest.raises(TaxonomyError) as refused:
        OLD.expanded(Additions([], [], synonyms=[("9", "chai")]))
    assert "'9'" in refused.value.problem
