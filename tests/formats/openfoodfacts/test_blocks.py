from __future__ import annotations

import pytest
from hypothesis import given

from taxoexpan.formats.openfoodfacts.blocks import (
    escape_commas,
    split_names,
    split_tag_ids,
    tag_id,
)
from tests.support.strategies import names, quickly


@pytest.mark.parametrize(
    ("language", "name", "id"),
    [
        ("en", "Café au lait", "cafe-au-lait"),
        ("fr", "Œufs frais", "oeufs-frais"),
        ("de", "Süße Äpfel", "süße-äpfel"),
        ("en", "Süße", "susse"),
        ("de", "GROẞE", "große"),
        ("el", "ΦΕΤΑΣ", "φετασ"),
        ("hr", "kruh (bijeli)", "kruh-bijeli"),
        ("en", "Kefir 2.5 %", "kefir-2-5"),
        ("en", "&quot;A&quot; & B", "a-b"),
        ("ja", "洗剤", "洗剤"),
        ("en", "cafe\u0301", "cafe"),
        ("en", "yuka.VFpGWk5hQVQ", "yuka.VFpGWk5hQVQ"),
        ("en", "*!#{}@$", ""),
    ],
)
def test_an_id_is_derived_as_on_the_server(language: str, name: str, id: str) -> None:
    assert tag_id(language, name) == id


@pytest.mark.parametrize(
    ("line", "split"),
    [
        ("a, b ,c", ["a", "b", "c"]),
        ("1,3-Diol, Bronopol", ["1,3-Diol", "Bronopol"]),
        ("1,3,5-x", ["1,3", "5-x"]),
        (r"salt\, iodised, NaCl", ["salt, iodised", "NaCl"]),
    ],
)
def test_commas_inside_names(line: str, split: list[str]) -> None:
    assert split_names(line) == split


def test_only_the_first_roman_numeral_loses_its_parentheses() -> None:
    assert split_tag_ids("en", "E333(iii), E333(iii) citrate") == ["e333iii", "e333-iii-citrate"]


@given(names())
@quickly
def test_escaped_names_are_read_back(name: str) -> None:
    assert split_names(escape_commas(name)) == [name]


def test_commas_in_numbers_are_escaped_only_if_necessary() -> None:
    assert escape_commas("1,3-Diol, x") == r"1,3-Diol\, x"
    assert escape_commas("1,3,5-x") == r"1\,3\,5-x"
