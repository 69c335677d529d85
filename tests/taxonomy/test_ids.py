from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Growth, growths, names, quickly

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.ids import make_distinct, slug


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
