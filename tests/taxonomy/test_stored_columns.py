from __future__ import annotations

import json

import pytest

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.stored_columns import (
    taxonomy_columns,
    taxonomy_digest,
    taxonomy_from_columns,
)

RELATIONS = [("drink", "tea"), ("drink", "milk"), ("milk", "oat milk")]


def drinks(**changes: str) -> Taxonomy:
    milk = Concept("milk", "milk", ("moo juice",), changes.get("definition", "a white drink"))
    tea = Concept("tea", "tea", deprecated=True)
    others = [Concept(name, name) for name in ("drink", "oat milk")]
    return Taxonomy([*others, tea, milk], RELATIONS)


def test_columns_survive_json() -> None:
    taxonomy = drinks()
    columns = json.loads(json.dumps(taxonomy_columns(taxonomy)))
    again = taxonomy_from_columns(columns)
    assert [*again.concepts] == [*taxonomy.concepts]
    assert [*again.relations] == [*taxonomy.relations]
    assert again.deprecated == taxonomy.deprecated
    assert taxonomy_digest(again) == taxonomy_digest(taxonomy)


def test_the_digest_changes_with_any_text() -> None:
    assert taxonomy_digest(drinks(definition="another")) != taxonomy_digest(drinks())


def test_missing_columns_are_an_error() -> None:
    columns = taxonomy_columns(drinks())
    del columns["parents"]
    with pytest.raises(KeyError, match="parents"):
        taxonomy_from_columns(columns)
