from __future__ import annotations

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.id_policy import IdPolicy, IdTemplate


@pytest.mark.parametrize(
    ("template", "id"),
    [
        ("FOOD:{number:07}", "FOOD:0000012"),
        ("{parent}-{number}", "hg-2-12"),
        ("https://food.org/{slug}", "https://food.org/oat-milk"),
        ("{{x}}{number}", "{x}12"),
    ],
)
def test_a_template_is_filled(template: str, id: str) -> None:
    assert IdTemplate(template).fill("oat-milk", "hg-2", 12) == id


def test_the_uuid_of_a_label_is_always_the_same() -> None:
    template = IdTemplate("urn:uuid:{uuid}")
    first, again, other = (template.fill(slug, "", 0) for slug in ("kiwi", "kiwi", "fig"))
    assert first == again != other


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{name}", "is not a field"),
        ("{number:x}", "is not a width"),
        ("{number:5}", "is not a width"),
        ("{number!r:07}", "conversion"),
        ("{slug:07}", "is not a width"),
        ("FOOD", "so that the ids differ"),
        ("{parent}", "so that the ids differ"),
        ("{number", "for a brace"),
    ],
)
def test_a_template_that_cannot_work_is_refused(template: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        IdTemplate(template)


@pytest.mark.parametrize(
    ("template", "id", "number"),
    [
        ("F.{number:03}", "F.012", "012"),
        ("F.{number:03}", "F.1234", "1234"),
        ("F.{number:03}", "Fx012", None),
        ("F.{number:03}", "F.012x", None),
        ("{parent}-{number}", "a+b-7", "7"),
        ("{parent}-{number}", "aab-7", None),
        ("{parent}-{slug}.{number}", "a+b-oat-milk.7", "7"),
        ("{number}/{number}", "7/8", "7"),
    ],
)
def test_the_number_of_an_id_is_found(template: str, id: str, number: str | None) -> None:
    match = IdTemplate(template).pattern("a+b").fullmatch(id)
    assert (match and match["number"]) == number


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


def test_most_ids_must_be_obo_iris_before_a_template_is_expanded() -> None:
    assert made([f"{OBO}FOOD_1", "http://x.org/tea"], "FOOD:{number:07}") == "FOOD:0000001"


def test_a_range_may_have_one_number() -> None:
    for number in (5, 0):
        policy = IdPolicy(IdTemplate("{number}"), first=number, last=number)
        assert list(policy.maker("", ())("tea")) == [str(number)]


def test_a_range_needs_a_number_in_the_template() -> None:
    with pytest.raises(ConfigurationError, match=r"has no \{number\}"):
        IdPolicy(IdTemplate("{slug}"), first=9)
