from __future__ import annotations

from taxoexpan.formats.property_index import PropertyIndex, blank_properties


def index(**having: str) -> PropertyIndex:
    """Properties with the concepts (single letters) that have them; `all` are the concepts."""
    concepts = set(having.pop("all"))
    return PropertyIndex(concepts, {name: set(ids) for name, ids in having.items()})


def test_a_property_that_no_new_concept_has_is_reported() -> None:
    (blank,) = blank_properties(
        index(all="abcd", code="abc", name="abcd"), index(all="abcdx", code="abc", name="abcdx")
    )
    assert str(blank) == "code: 75% of the other concepts have it; no new concept has it"


def test_a_property_that_some_new_concepts_lack_is_reported() -> None:
    (blank,) = blank_properties(index(all="ab", code="ab"), index(all="abxy", code="abx"))
    assert str(blank).endswith("1 of 2 new concepts lack it")


def test_rare_properties_are_not_reported() -> None:
    old = index(all="abcdefgh", note="a")
    assert blank_properties(old, index(all="abcdefghx", note="a")) == []


def test_frequent_properties_come_first() -> None:
    old = index(all="abcd", half="ab", most="abc", every="abcd")
    found = blank_properties(old, index(all="abcdx", half="ab", most="abc", every="abcd"))
    assert [blank.name for blank in found] == ["every", "most", "half"]
