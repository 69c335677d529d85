from __future__ import annotations

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.id_policy import IdPolicy
from taxoexpan.taxonomy.id_templates import IdTemplate

OBO = "http://purl.obolibrary.org/obo/"


def made(ids: list[str], template: str) -> str:
    taxonomy = Taxonomy([Concept(id, f"thing {number}") for number, id in enumerate(ids)])
    (kiwi,) = with_ids(taxonomy, [Concept("", "kiwi")], IdPolicy(IdTemplate(template)))
    return kiwi.id


def test_a_template_of_obo_ids_is_expanded_where_ids_are_iris() -> None:
    ids = [f"{OBO}FOOD_{number:07}" for number in range(1, 9)]
    assert made(ids, "FOOD:{number:07}") == f"{OBO}FOOD_0000009"
    assert made(ids, OBO + "FOOD_{number:07}") == f"{OBO}FOOD_0000009"
    assert (
        made([f"FOOD:{number:07}" for number in range(1, 9)], "FOOD:{number:07}") == "FOOD:0000009"
    )


@pytest.mark.parametrize("template", ["drinks:{slug}", "{slug}"])
def test_a_template_without_iris_is_refused_where_ids_are_iris(template: str) -> None:
    with pytest.raises(ConfigurationError, match=r"gives no IRIs.* write 'http://x.org/{slug}'"):
        made(["http://x.org/tea", "http://x.org/milk"], template)


def test_most_ids_must_be_iris_before_a_template_must_be_one() -> None:
    assert made(["http://x.org/tea", "milk"], "drinks:{slug}") == "drinks:kiwi"


def test_most_ids_must_be_obo_iris_before_a_template_is_expanded() -> None:
    with pytest.raises(ConfigurationError, match="gives no IRIs"):
        made([f"{OBO}FOOD_1", "http://x.org/tea"], "FOOD:{number:07}")


def test_a_template_with_a_blank_is_refused_unless_ids_have_blanks() -> None:
    with pytest.raises(ConfigurationError, match=r"gives ids with blanks, .* write 'F{number}'"):
        made(["F1", "F2"], "F {number}")
    assert made(["F 1", "F 2"], "F {number}") == "F 3"


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is empty"):
        IdPolicy(first=9, last=5)
    with pytest.raises(ConfigurationError, match="ids start at -1; the first number must be 0"):
        IdPolicy(first=-1)
    assert list(IdPolicy(first=5, last=5).numbers_from(1)) == [5]
    assert list(IdPolicy(last=0).numbers_from(0)) == [0]


def test_a_range_needs_a_number_in_the_template() -> None:
    with pytest.raises(ConfigurationError, match=r"has no \{number\}"):
        IdPolicy(IdTemplate("{slug}"), first=9)


def test_the_kind_of_a_policy_says_what_decides() -> None:
    template = IdTemplate("F{number}")
    assert IdPolicy(template).kind == IdPolicy(template, first=3).kind == "template"
    assert IdPolicy(first=3).kind == IdPolicy(last=3).kind == "range"
    assert IdPolicy().kind == "style"
