from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.checks.all_checks import check_taxonomy
from taxoexpan.curation.checks.labels import MAX_GROUP_SIZE, one_edit_apart
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.english import singular
from tests.support.labeled_taxonomies import REMEDY, build, cousins, siblings
from tests.support.strategies import quickly


def codes(taxonomy: Taxonomy) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in check_taxonomy(taxonomy)]


def test_a_label_of_several_concepts_is_an_info() -> None:
    taxonomy = build({"a": "food", "b": "tool", "c": "date", "d": " date"}, "ac", "bd")
    message = "'date' is the label of 2 concepts (also: c)"
    assert check_taxonomy(taxonomy) == [Finding("repeated-label", "info", "d", message)]


def test_a_label_of_several_siblings_is_a_warning() -> None:
    labels = {"a": "food", "b": "tool", "c": "date", "d": "date"}
    taxonomy = build(labels, "ab", "ac", "ad")
    message = (
        "'date' is the label of 2 children of 'food' (a); merge them or give them different "
        "labels (also: c)"
    )
    assert check_taxonomy(taxonomy) == [Finding("repeated-sibling", "warning", "d", message)]


def test_siblings_with_the_same_label_are_reported_even_if_others_have_it_too() -> None:
    labels = {"a": "food", "b": "fruit", "c": "date", "d": "date", "e": "date"}
    found = check_taxonomy(build(labels, "ab", "ac", "bd", "be"))
    assert [(f.code, f.place) for f in found] == [
        ("repeated-sibling", "e"),
        ("repeated-label", "e"),
    ]


def test_siblings_with_two_common_parents_are_reported_once() -> None:
    labels = {"r": "all", "a": "food", "b": "gift", "c": "date", "d": "date"}
    taxonomy = build(labels, "ra", "rb", "ac", "ad", "bc", "bd")
    assert codes(taxonomy) == [("repeated-sibling", "warning")]


def test_roots_with_the_same_label_are_not_siblings() -> None:
    taxonomy = build({"a": "food", "b": "food", "c": "fig", "d": "date"}, "ac", "bd")
    assert codes(taxonomy) == [("repeated-label", "info")]


def test_only_some_of_many_concepts_with_the_same_label_are_listed() -> None:
    assert check_taxonomy(siblings(*"xxxxxxxx"))[0].message.endswith("(also: a, b, c, d, e, …)")


def test_blank_labels_are_not_the_same_name() -> None:
    assert check_taxonomy(siblings("", "", " ")) == []
    assert check_taxonomy(siblings("-", "_", "--")) == []


def test_a_deprecated_concept_may_have_the_label_of_another() -> None:
    concepts = [Concept("r", "food"), Concept("a", "fig"), Concept("b", "fig", deprecated=True)]
    assert check_taxonomy(Taxonomy(concepts, [("r", "a"), ("r", "b")])) == []


def named(*relations: str, **synonyms: str) -> Taxonomy:
    labels = {"r": "food", "s": "drink", "a": "soda", "b": "pop", "c": "cola"}
    concepts = [
        Concept(id, label, tuple(synonyms[id].split("|")) if id in synonyms else ())
        for id, label in labels.items()
    ]
    return Taxonomy(concepts, [(pair[0], pair[1]) for pair in relations])


def test_a_label_that_is_a_synonym_elsewhere_is_an_info() -> None:
    found = check_taxonomy(named("rs", "ra", "sb", "bc", b="Soda|fizz"))
    message = "the synonym 'Soda' of 'pop' is also the label of 'soda' (a)"
    assert found == [Finding("label-is-synonym", "info", "b", message)]
    found = check_taxonomy(named("rs", "ra", "sb", "bc", a="Pop"))
    message = "'pop' is also a synonym of 'soda' (a)"
    assert found == [Finding("label-is-synonym", "info", "b", message)]


@pytest.mark.parametrize(
    ("relations", "relation"),
    [
        (("rs", "ra", "rb", "bc"), "'soda' (a), and both are children of 'food' (r)"),
        (("rs", "ra", "ab", "bc"), "'soda' (a), which is its parent"),
        (("rs", "ba", "rb", "bc"), "'soda' (a), which is its child"),
    ],
)
def test_a_label_that_is_a_synonym_of_a_neighbor_is_a_warning(
    relations: tuple[str, ...], relation: str
) -> None:
    for synonyms in ({"b": "soda"}, {"a": "pop"}):
        (finding,) = check_taxonomy(named(*relations, **synonyms))
        found = (finding.code, finding.severity, finding.place)
        assert found == ("label-is-synonym", "warning", "b")
        assert f"{relation}; {REMEDY}, or remove the synonym" in finding.message


def test_a_label_that_is_a_synonym_of_several_concepts_is_reported_once() -> None:
    (finding,) = check_taxonomy(named("rs", "ra", "sb", "sc", b="soda", c="soda|SODA"))
    message = "the synonym 'soda' of 'cola' is also the label of 'soda' (a)"
    assert finding.message == f"{message} (and a synonym of 1 more)"


def test_a_concept_may_have_its_own_label_as_a_synonym() -> None:
    assert check_taxonomy(named("rs", "ra", "rb", "bc", a="Soda")) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Olive Oil", "olive oil"),
        ("e-mail", "email"),
        ("data base", "database"),
        ("Data-Base", "database"),
        ("straße", "STRASSE"),
    ],
)
def test_case_spaces_and_hyphens_do_not_distinguish_names(first: str, second: str) -> None:
    message = f"{second!r} and {first!r} (a) differ only in case, spaces or hyphens"
    found = check_taxonomy(cousins(first, second))
    assert found == [Finding("similar-label", "info", "b", f"{message}; {REMEDY}")]
    message += f", and both are children of 'everything' (r); {REMEDY}"
    found = check_taxonomy(siblings(first, second))
    assert found == [Finding("similar-label", "warning", "b", message)]


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("cat", "cats"),
        ("berry", "berries"),
        ("movie", "movies"),
        ("watch", "watches"),
        ("brush", "brushes"),
        ("box", "boxes"),
        ("glass", "glasses"),
        ("house", "houses"),
    ],
)
def test_singular_and_plural_are_the_same_name(one: str, many: str) -> None:
    assert singular(many) == singular(one)
    (finding,) = check_taxonomy(siblings(f"toy {one}", f"Toy {many.title()}"))
    assert (finding.code, finding.severity) == ("similar-label", "warning")
    assert "differ only in singular and plural" in finding.message


@pytest.mark.parametrize("word", ["glass", "virus", "analysis", "gas", "fish"])
def test_not_every_final_s_is_a_plural(word: str) -> None:
    assert singular(word) == word


def test_only_the_last_word_is_compared_in_the_singular() -> None:
    assert check_taxonomy(siblings("arms race", "arm race")) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("colour face", "color face"),
        ("generalised seizure", "generalized seizure"),
        ("compact disc", "compact disk"),
        ("traveller guide", "traveler guide"),
        ("men's shoes", "mens shoes"),
        ("potage", "pottage"),
    ],
)
def test_two_spellings_of_the_same_name_are_a_warning_among_siblings(
    first: str, second: str
) -> None:
    assert codes(cousins(first, second)) == [("similar-label", "info")]
    (finding,) = check_taxonomy(siblings(first, second))
    assert finding.severity == "warning"
    assert "look like two spellings of the same name, and both are" in finding.message


@pytest.mark.parametrize("wrong", ["strawbery jam", "strqwberry jam", "strawberrxy jam"])
def test_a_misspelling_is_an_info(wrong: str) -> None:
    (finding,) = check_taxonomy(cousins("strawberry jam", wrong))
    assert (finding.code, finding.severity, finding.place) == ("similar-label", "info", "b")


def test_a_possible_misspelling_is_only_an_info_among_siblings_too() -> None:
    (finding,) = check_taxonomy(siblings("macroscopic model", "microscopic model"))
    message = (
        "'microscopic model' and 'macroscopic model' (a) differ in one letter, "
        "and both are children of 'everything' (r); check whether one of them is misspelled"
    )
    assert finding == Finding("similar-label", "info", "b", message)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("type 1 diabetes", "type 2 diabetes"),
        ("standard 802.11ab", "standard 802.11ac"),
        ("oat milk", "oaf milk"),
        ("honey jars", "money jars"),
        ("कमलापति", "कमलापत"),
        ("asynchronous circuit", "synchronous circuit"),
        ("shirts", "skirts"),
        ("tea", "tee"),
    ],
)
def test_one_edit_between_different_names_is_no_finding(first: str, second: str) -> None:
    assert check_taxonomy(siblings(first, second)) == []


def test_words_that_are_used_elsewhere_are_not_misspelled() -> None:
    assert codes(siblings("flame format", "frame format")) == [("similar-label", "info")]
    assert check_taxonomy(siblings("flame format", "frame format", "flame", "frame")) == []


def test_similar_labels_are_reported_once_for_all_their_concepts() -> None:
    labels = {"r": "all", "x": "one", "y": "two", "a": "pear", "b": "pear", "c": "Pear", "d": "fig"}
    found = check_taxonomy(build(labels, "rx", "ry", "xa", "yb", "yc", "rd"))
    assert [(f.code, f.severity, f.place) for f in found] == [
        ("repeated-label", "info", "b"),
        ("similar-label", "warning", "c"),
    ]


def distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def shortened(text: str) -> set[str]:
    return {text[:i] + text[i + 1 :] for i, c in enumerate(text) if not c.isdigit()}


def slow_one_edit_apart(texts: Sequence[str]) -> set[tuple[str, str]]:
    found = set()
    for first, second in combinations(texts, 2):
        longer, shorter = sorted((first, second), key=len, reverse=True)
        changed = [c for c in set(longer + shorter) if longer.count(c) != shorter.count(c)]
        if distance(first, second) != 1 or any(map(str.isdigit, changed)):
            continue
        meetings = shortened(longer) & (shortened(shorter) | {shorter})
        (meeting,) = (text for text in meetings if len(longer) > len(shorter) or text != shorter)
        if sum(text == meeting or meeting in shortened(text) for text in texts) <= MAX_GROUP_SIZE:
            found.add((first, second))
    return found


@quickly
@example([])
@example([""])
@example(["", "a", "1"])
@example(["".join(letters) for size in range(4) for letters in product("abc1", repeat=size)])
@example([f"{a}{b}{c}" for a in "xy" for b in "abcdefghijkl" for c in "mn"])
@given(st.lists(st.text("abcd12水", max_size=4), unique=True, max_size=60))
def test_one_edit_apart_finds_the_same_pairs_as_a_slow_search(texts: list[str]) -> None:
    edits = list(one_edit_apart(texts))
    pairs = [tuple(sorted((longer, shorter), key=texts.index)) for longer, shorter, _ in edits]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == slow_one_edit_apart(texts)
    for longer, shorter, place in edits:
        assert longer[:place] == shorter[:place]
        assert longer[place + 1 :] == shorter[place + 1 + len(shorter) - len(longer) :]


def test_a_pattern_of_many_labels_is_ignored() -> None:
    letters = "bcdfghjklmnp"[: MAX_GROUP_SIZE + 1]
    assert check_taxonomy(siblings(*(f"motorway e{letter}it" for letter in letters))) == []
    assert check_taxonomy(siblings(*(f"motorway e{letter}it" for letter in letters[:-1]))) != []
