from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.ids import make_distinct, next_and_width, next_number, slug
from tests.support.strategies import Growth, growths, names, quickly


@pytest.mark.parametrize(
    ("numbers", "following"),
    [
        ([], 1),
        ([3, 1, 2], 4),
        ([7, 4100], 4101),  # two numbers say nothing about outliers
        ([*range(1, 501), 9_999_999], 501),
        ([*range(1, 501), *range(900_000, 900_400)], 900_400),
        ([*range(2_401), *range(5_836, 5_858), *range(1_000_002, 1_000_150), 3_000_000], 2_401),
        ([*range(1, 21), 41], 21),
        ([*range(1, 21), 40], 41),  # a gap as long as the range before it
        ([1, 2, 5_000], 3),
        ([*range(1, 10), 5_000, 6_000], 6_001),  # more than a tenth of the numbers
        ([*range(1, 19), 5_000, 6_000], 19),
        ([1, 2, 3, 13], 14),
        ([1, 2, 3, 14], 4),
    ],
)
def test_a_few_numbers_far_above_all_others_do_not_count(
    numbers: list[int], following: int
) -> None:
    assert next_number(numbers) == following


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_the_next_number_follows_an_existing_one(numbers: list[int]) -> None:
    assert next_number(numbers) - 1 in numbers


def test_the_width_is_that_of_the_last_number_before_the_next() -> None:
    assert next_and_width(["007", "099"]) == (100, 3)
    assert next_and_width([*map(str, range(1, 30)), "0009999"]) == (30, 2)


def made(taxonomy: Taxonomy, *labels: str) -> list[str]:
    return [concept.id for concept in with_ids(taxonomy, [Concept("", name) for name in labels])]


GO = tuple((f"GO:000000{n}", f"c{n}") for n in range(1, 6))


@pytest.mark.parametrize(
    ("known", "labels", "ids"),
    [
        ((), ["kiwi"], ["kiwi"]),
        ((("Fruit", "Fruit"), ("Red apple", "Red apple")), ["Green apple"], ["Green apple"]),
        ((("Fruit", "Fruit"), ("Fruit > Fig", "Fig")), ["Green apple"], ["Green apple"]),
        ((("C007", "fruit"), ("C012", "apple")), ["kiwi", "mango"], ["C013", "C014"]),
        ((("C9", "fruit"),), ["kiwi"], ["C10"]),
        ((("41", "fruit"), ("7", "apple")), ["kiwi"], ["42"]),
        ((("1", "fruit"), ("2", "fig"), ("9" * 5000, "date")), ["kiwi"], ["3"]),
        (
            (("http://x.org/x1y", "fruit"), ("http://x.org/x2z", "fig")),
            ["A b"],
            ["http://x.org/a-b"],
        ),
        (
            (("http://x.org#x1y", "fruit"), ("http://x.org#x2z", "fig")),
            ["A b"],
            ["http://x.org#a-b"],
        ),
        ((("en:x1y", "fruit"), ("en:x2z", "fig")), ["A b"], ["en:a-b"]),
        ((("http://x.org/fruit", "fruit"), ("http://x.org/fig", "fig")), ["a"], ["http://x.org/a"]),
        ((("CHEBI:99", "acid"), *GO, ("part_of", "part of")), ["kiwi"], ["GO:0000006"]),
        ((("k7x", "food"), ("zz-3", "fig")), ["A apple!", "a apple"], ["a-apple", "a-apple-2"]),
        (
            (("red_wine#n#1", "Red wine"), ("whey#n#1", "Whey")),
            ["🍏", "🍐", "red-wine"],
            ["concept#n#1", "concept#n#2", "red_wine#n#2"],
        ),
    ],
)
def test_new_ids_have_the_style_of_the_others(
    known: tuple[tuple[str, str], ...], labels: list[str], ids: list[str]
) -> None:
    assert made(Taxonomy([Concept(id, label) for id, label in known]), *labels) == ids


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
    whey = known.replace("ine", "hey").replace("INE", "HEY")
    wines = Taxonomy([Concept(known, "Red wine"), Concept(whey, "Red whey")])
    assert made(wines, "Green apple pie") == [new]


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
