from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Growth, growths, names, quickly

from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import resolve_ids, with_ids
from taxoexpan.taxonomy.id_policy import IdPolicy, IdTemplate
from taxoexpan.taxonomy.ids import make_distinct, next_and_width, next_number, slug


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


def made(taxonomy: Taxonomy, *labels: str) -> list[str]:
    return [concept.id for concept in with_ids(taxonomy, [Concept("", name) for name in labels])]


def test_if_labels_are_ids_a_new_id_is_the_label() -> None:
    fruit = Taxonomy([Concept("Fruit", "Fruit"), Concept("Red apple", "Red apple")])
    assert made(fruit, "Green apple") == ["Green apple"]


def test_if_paths_are_ids_a_new_id_is_the_label() -> None:
    fruit = Taxonomy([Concept("Fruit", "Fruit"), Concept("Fruit > Red apple", "Red apple")])
    assert made(fruit, "Green apple") == ["Green apple"]


def test_if_ids_are_numbered_a_new_id_has_the_next_number() -> None:
    numbered = Taxonomy([Concept("C007", "fruit"), Concept("C012", "apple")])
    assert made(numbered, "kiwi", "mango") == ["C013", "C014"]


def test_a_number_grows_when_its_digits_are_used_up() -> None:
    assert made(Taxonomy([Concept("C9", "fruit")]), "kiwi") == ["C10"]


def test_ids_without_a_stem_are_numbered_too() -> None:
    assert made(Taxonomy([Concept("41", "fruit"), Concept("7", "apple")]), "kiwi") == ["42"]


@pytest.mark.parametrize("prefix", ["http://food.org/", "http://food.org/onto#", "en:"])
def test_a_common_prefix_is_kept(prefix: str) -> None:
    fruit = Taxonomy([Concept(prefix + "x1y", "fruit"), Concept(prefix + "x2z", "apple")])
    assert made(fruit, "Green apple") == [prefix + "green-apple"]


def test_a_uri_that_ends_in_its_label_has_a_prefix() -> None:
    fruit = Taxonomy(
        [Concept("http://food.org/fruit", "fruit"), Concept("http://food.org/fig", "fig")]
    )
    assert made(fruit, "kiwi") == ["http://food.org/kiwi"]


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("http://food.org/red-wine", "http://food.org/green-apple-pie"),
        ("http://food.org/red_wine", "http://food.org/green_apple_pie"),
        ("http://food.org/RedWine", "http://food.org/GreenApplePie"),
        ("http://food.org#redWine", "http://food.org#greenApplePie"),
        ("http://food.org/Red_wine", "http://food.org/Green_apple_pie"),
        ("RED_WINE", "GREEN_APPLE_PIE"),
        ("red_wine#n#1", "green_apple_pie#n#1"),
    ],
)
def test_words_are_spelled_as_in_the_other_ids(known: str, new: str) -> None:
    wines = Taxonomy(
        [
            Concept(known, "Red wine"),
            Concept(known.replace("ine", "hey").replace("INE", "HEY"), "Red whey"),
        ]
    )
    assert made(wines, "Green apple pie") == [new]


def test_a_further_sense_of_a_name_gets_the_next_number() -> None:
    senses = Taxonomy([Concept("red_wine#n#1", "Red wine"), Concept("whey#n#1", "Whey")])
    assert made(senses, "🍏", "🍐", "red-wine") == ["concept#n#1", "concept#n#2", "red_wine#n#2"]


def test_a_few_ids_of_another_kind_do_not_hide_the_style() -> None:
    go = [Concept(f"GO:000000{n}", f"c{n}") for n in range(1, 6)]
    mixed = Taxonomy([Concept("CHEBI:99", "acid"), *go, Concept("part_of", "part of")])
    assert made(mixed, "kiwi") == ["GO:0000006"]


def test_without_a_common_style_a_new_id_is_a_slug() -> None:
    mixed = Taxonomy([Concept("k7x", "food"), Concept("zz-3", "apple")])
    assert made(mixed, "Green apple!", "green apple") == ["green-apple", "green-apple-2"]


def test_ids_for_an_empty_taxonomy() -> None:
    assert made(Taxonomy([]), "kiwi") == ["kiwi"]


def test_given_ids_are_kept_and_never_made_for_another_concept() -> None:
    numbered = Taxonomy([Concept("C1", "fruit")])
    listed = [Concept("", "kiwi"), Concept("C2", "mango"), Concept("", "fig")]
    assert [concept.id for concept in with_ids(numbered, listed)] == ["C3", "C2", "C4"]


def test_only_the_id_of_a_concept_is_set() -> None:
    kiwi = Concept("", "kiwi", ("actinidia",), "a fruit")
    assert with_ids(Taxonomy([]), [kiwi]) == [Concept("kiwi", "kiwi", ("actinidia",), "a fruit")]


ID_STYLES = [
    names(),
    st.integers(0, 30).map("C{:02}".format),
    names().map("http://food.org/{}".format),
]


@given(
    st.one_of([growths(ids=ids, labels=names()) for ids in ID_STYLES]),
    st.lists(names(), max_size=6),
)
@quickly
def test_made_ids_never_clash(growth: Growth, labels: list[str]) -> None:
    taxonomy = growth.old
    ids = made(taxonomy, *labels, *taxonomy.labels)
    assert "" not in ids
    assert len({*ids, *taxonomy}) == len(ids) + len(taxonomy)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Red  Wine (dry)", "red-wine-dry"),
        ("绿茶", "绿茶"),
        ("हिन्दी चाय", "हिन्दी-चाय"),
        ("rosé & co.", "rosé-co"),
        ("🍏", "concept"),
    ],
)
def test_a_slug_keeps_letters_of_every_script(label: str, expected: str) -> None:
    assert slug(label) == expected


KEYS = [f"urn:uuid:{uuid5(NAMESPACE_URL, name)}" for name in ("tea", "milk")]


def test_if_most_ids_are_uuids_a_label_always_gets_the_same_new_one() -> None:
    keyed = Taxonomy([Concept(id, f"thing {n}") for n, id in enumerate([*KEYS, "tea"])])
    kiwi, fig, again = made(keyed, "kiwi", "fig", "kiwi")
    assert made(keyed, "fig", "kiwi") == [fig, kiwi]
    ids = [id.removeprefix("urn:uuid:") for id in (kiwi, fig, again)]
    assert len({str(UUID(id)) for id in ids}) == 3
    assert kiwi == f"urn:uuid:{uuid5(NAMESPACE_URL, 'urn:uuid:kiwi')}"


def test_if_only_half_the_ids_are_uuids_a_new_id_is_the_label() -> None:
    half = Taxonomy([Concept(KEYS[0], "thing"), Concept("green-tea", "Green tea")])
    assert made(half, "Oat milk") == ["oat-milk"]


def test_only_repeated_names_get_a_number() -> None:
    names = ["tea", "tea", "tea-2", "milk", "tea", "tea-2"]
    assert make_distinct(names) == ["tea", "tea-3", "tea-2", "milk", "tea-4", "tea-2-2"]


@given(st.lists(st.sampled_from(["a", "a-2", "a-2-2", "a-3", "b"]), max_size=8))
@quickly
def test_distinct_names_differ_and_a_first_one_stays(names: list[str]) -> None:
    distinct = make_distinct(names)
    assert len(distinct) == len(set(distinct)) == len(names)
    assert all(distinct[names.index(name)] == name for name in names)
