from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.known_names import filter_known_names
from taxoexpan.taxonomy.names import normalize_name
from tests.support.strategies import names, quickly, taxonomies

WINE = Concept("C1", "Red wine", ("vin rouge",))
BEER = Concept("C2", "beer")
DRINKS = Taxonomy([WINE, BEER])


def bare(*labels: str) -> list[Concept]:
    return [Concept("", label) for label in labels]


@pytest.mark.parametrize("name", ["Red wine", "RED-WINE", " red  wine", "Vin Rouge", "vin_rouge"])
def test_labels_and_synonyms_are_known_in_any_spelling(name: str) -> None:
    found = filter_known_names(DRINKS, bare(name))
    assert found.present == ((Concept("", name), WINE),)
    assert found.new == found.repeated == ()


def test_a_name_in_another_language_is_known_too() -> None:
    no = np.zeros(0, np.int64)
    drinks = Taxonomy.from_columns(["1"], ["beer"], no, no, foreign_names={0: ("Bier", "bière")})
    found = filter_known_names(drinks, bare("bier", "Bierre"))
    assert [known.id for _, known in found.present] == ["1"]
    assert [concept.label for concept in found.new] == ["Bierre"]


def test_reserved_ids_are_not_used() -> None:
    no = np.zeros(0, np.int64)
    drinks = Taxonomy.from_columns(["C1"], ["beer"], no, no, reserved=["C2", "C3"])
    assert [concept.id for concept in filter_known_names(drinks, bare("cider")).new] == ["C4"]
    with pytest.raises(TaxonomyError, match="the id 'C2' of the new concept 'cider' is used for"):
        filter_known_names(drinks, [Concept("C2", "cider")])


def test_labels_take_precedence_over_synonyms() -> None:
    drinks = Taxonomy([Concept("1", "ale"), Concept("2", "beer", ("ale",))])
    assert [known.id for _, known in filter_known_names(drinks, bare("Ale")).present] == ["1"]


def test_a_name_repeated_in_the_list_is_new_once() -> None:
    found = filter_known_names(DRINKS, bare("cider", "Perry", "CIDER"))
    assert found.new == (Concept("C3", "cider"), Concept("C4", "Perry"))
    assert found.repeated == (Concept("", "CIDER"),)


def test_equal_names_with_different_ids_are_two_concepts() -> None:
    listed = [Concept("b1", "bank"), Concept("b2", "bank")]
    assert filter_known_names(DRINKS, listed).new == tuple(listed)


@pytest.mark.parametrize("ids", [("b1", ""), ("", "b1"), ("", ""), ("b1", "b1")])
def test_equal_names_are_one_concept_unless_each_has_an_id(ids: tuple[str, str]) -> None:
    found = filter_known_names(DRINKS, [Concept(id, "bank") for id in ids])
    assert len(found.new) == 1
    assert found.repeated == (Concept(ids[1], "bank"),)


def test_an_id_of_the_taxonomy_is_refused_for_another_name() -> None:
    message = (
        "the id 'C2' of the new concept 'cider' belongs to 'beer'; give it another id, or none"
    )
    with pytest.raises(TaxonomyError, match=message):
        filter_known_names(DRINKS, [Concept("C2", "cider")])


def test_an_id_given_twice_in_the_list_is_refused() -> None:
    message = "the id 'x' of the new concept 'perry' belongs to 'cider'"
    with pytest.raises(TaxonomyError, match=message):
        filter_known_names(DRINKS, [Concept("x", "cider"), Concept("x", "perry")])


def test_a_taken_id_is_refused_for_a_name_of_hyphens_too() -> None:
    with pytest.raises(TaxonomyError, match="the id '1' of the new concept '-' belongs to '-'"):
        filter_known_names(Taxonomy([Concept("1", "-")]), [Concept("1", "-")])


def test_a_known_name_with_a_taken_id_is_present_and_not_refused() -> None:
    assert filter_known_names(DRINKS, [Concept("C2", "Beer")]).present == (
        (Concept("C2", "Beer"), BEER),
    )


@given(taxonomies(), st.lists(names(), max_size=6))
@quickly
def test_every_listed_concept_is_new_or_present_or_repeated(
    taxonomy: Taxonomy, labels: list[str]
) -> None:
    found = filter_known_names(taxonomy, bare(*labels))
    assert len(found.new) + len(found.present) + len(found.repeated) == len(labels)
    folded = [normalize_name(concept.label) for concept in found.new]
    assert len(set(folded)) == len(folded)
    assert not {concept.id for concept in found.new} & set(taxonomy)
