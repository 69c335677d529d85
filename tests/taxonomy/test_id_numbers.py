from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import resolve_ids
from taxoexpan.taxonomy.id_numbers import next_and_width, next_number
from taxoexpan.taxonomy.id_policy import IdPolicy
from taxoexpan.taxonomy.id_templates import IdTemplate


def test_the_next_number_follows_the_last() -> None:
    assert next_number([3, 1, 2]) == 4


def test_without_numbers_the_default_comes_first() -> None:
    assert next_number([], 100) == 100


def test_a_single_outlier_does_not_count() -> None:
    assert next_number([*range(1, 501), 9_999_999]) == 501


def test_a_second_range_of_many_ids_counts() -> None:
    assert next_number([*range(1, 501), *range(900_000, 900_400)]) == 900_400


def test_several_small_ranges_far_above_do_not_count() -> None:
    numbers = [*range(2_401), *range(5_836, 5_858), *range(1_000_002, 1_000_150), 3_000_000]
    assert next_number(numbers) == 2_401


def test_two_numbers_say_nothing_about_outliers() -> None:
    assert next_number([7, 4100]) == 4101


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_the_next_number_follows_an_existing_one(numbers: list[int]) -> None:
    assert next_number(numbers) - 1 in numbers


def test_a_gap_as_long_as_the_range_before_it_is_not_an_outlier() -> None:
    assert next_number([*range(1, 21), 41]) == 21
    assert next_number([*range(1, 21), 40]) == 41


def test_at_most_a_tenth_of_the_numbers_are_outliers() -> None:
    assert next_number([1, 2, 5_000]) == 3
    assert next_number([*range(1, 10), 5_000, 6_000]) == 6_001
    assert next_number([*range(1, 19), 5_000, 6_000]) == 19


def test_a_gap_of_ten_is_never_an_outlier() -> None:
    assert next_number([1, 2, 3, 13]) == 14
    assert next_number([1, 2, 3, 14]) == 4


def test_the_width_is_that_of_the_last_number_before_the_next() -> None:
    assert next_and_width(["007", "099"]) == (100, 3)
    assert next_and_width([*map(str, range(1, 30)), "0009999"]) == (30, 2)


DIGITS = "9" * 5_000


@pytest.mark.parametrize(
    "ids",
    [
        ("1", DIGITS, "2"),
        ("F:1", f"F:{DIGITS}", "F:2"),
        ("1", f"1-{DIGITS}", "1-1", "1-2", "1-3", "1-4", "1-5"),
        (f"1{DIGITS}", f"2{DIGITS}"),
        ("http://food.org/1", f"http://food.org/{DIGITS}"),
    ],
)
@pytest.mark.parametrize(
    "template", [None, IdTemplate("F:{number}"), IdTemplate("{parent}-{number}")]
)
def test_thousands_of_digits_are_no_number(
    ids: tuple[str, ...], template: IdTemplate | None
) -> None:
    """Python refuses to convert them."""
    root, *rest = ids
    taxonomy = Taxonomy(
        [Concept(id, f"c{n}") for n, id in enumerate(ids)], [(root, r) for r in rest]
    )
    kiwi = Additions([Concept("", "kiwi")], [(root, "")])
    resolved, _ = resolve_ids(taxonomy, kiwi, IdPolicy(template))
    assert resolved.concepts[0].id not in taxonomy
    assert len(resolved.concepts[0].id) < 5_100
