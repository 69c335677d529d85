from __future__ import annotations

import pytest

from taxoexpan.taxonomy.curies import Prefixes

FILE = Prefixes(
    {"ex": "http://example.org/", "exa": "http://example.org/a/", "": "http://other.org/"}
)
OBO = "http://purl.obolibrary.org/obo/"


@pytest.mark.parametrize(
    ("iri", "curie"),
    [
        (f"{OBO}SO_0000110", "SO:0000110"),
        ("http://example.org/tea", "ex:tea"),
        ("http://example.org/a/tea", "exa:tea"),
    ],
)
def test_a_curie_and_its_iri_are_the_same(iri: str, curie: str) -> None:
    assert FILE.compact(iri) == curie
    assert FILE.expand(curie) == FILE.expand(iri) == iri


def test_http_and_https_are_the_same_for_obo() -> None:
    assert FILE.expand("https://purl.obolibrary.org/obo/SO_1") == f"{OBO}SO_1"


@pytest.mark.parametrize(
    "id", ["http://other.org/tea", "http://example.org/b/tea", "oat milk", "urn:tea:1", "7"]
)
def test_an_id_without_a_prefix_has_no_curie(id: str) -> None:
    assert FILE.compact(id) is None
    assert FILE.expand(id) == id


def test_declared_prefixes_come_before_those_of_obo_and_of_others() -> None:
    others = Prefixes({"ex": "http://elsewhere.org/", "so": "http://so.org/"})
    assert (FILE | others).expand("ex:1") == "http://example.org/1"
    assert (FILE | others).expand("so:1") == "http://so.org/1"
    assert FILE.expand("so:1") == f"{OBO}so_1"


def test_the_longest_namespace_and_then_the_first_prefix_is_used() -> None:
    nested = {"long": "http://a.org/", "z": "http://a.org/F_", "y": "http://a.org/F_", "no": ""}
    assert Prefixes(nested).compact("http://a.org/F_tea") == "y:tea"
    assert Prefixes(nested).compact("http://other.org/tea") is None


def test_the_namespace_of_an_undeclared_prefix_is_that_of_obo() -> None:
    assert FILE.namespace_of("ex") == "http://example.org/"
    assert FILE.namespace_of("SO") == f"{OBO}SO_"
