from __future__ import annotations

import pytest

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import resolve_ids, with_ids
from taxoexpan.taxonomy.padded_codes import PaddedCodes


def coded(*pairs: tuple[str, str]) -> Taxonomy:
    ids = dict.fromkeys(id for pair in pairs for id in pair)
    return Taxonomy([Concept(id, f"label of {id}") for id in ids], pairs)


GOODS = coded(
    *[("10000000", f"10{n}0000") for n in ("10", "11", "12")],
    *[("10100000", code) for code in ("10101500", "10101600", "10101700")],
    ("10101500", "10101501"),
)


def test_codes_that_are_filled_with_zeros_are_recognized() -> None:
    assert PaddedCodes.of(GOODS) == PaddedCodes(8, 2)
    tree = coded(("1000", "1100"), *[("1100", f"11{n}0") for n in range(1, 6)])
    assert PaddedCodes.of(tree) == PaddedCodes(4, 1)


def test_a_new_code_fills_the_next_level_of_its_parent() -> None:
    (saws,) = with_ids(GOODS, [Concept("", "saws")])
    for parent, expected in [
        ("10000000", "10130000"),
        ("10100000", "10101800"),
        ("10101600", "10101601"),
        ("10101500", "10101502"),
    ]:
        _, new = resolve_ids(GOODS, Additions([saws], [(parent, saws.id)]))
        assert new == {saws.id: expected}


def test_a_full_code_has_no_code_below_it() -> None:
    with pytest.raises(TaxonomyError, match="all codes of 8 digits below '10101501' are used"):
        PaddedCodes(8, 2).child_of("10101501", (), set(GOODS))


def test_plain_numbers_are_no_padded_codes() -> None:
    assert PaddedCodes.of(coded(*[("100", str(n)) for n in range(101, 140)])) is None
