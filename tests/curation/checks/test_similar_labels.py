from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from labeled_taxonomies import REMEDY, build, cousins, siblings
from strategies import quickly

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.checks.all_checks import check_taxonomy
from taxoexpan.curation.checks.labels import MAX_GROUP_SIZE, one_edit_apart
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.names import singular


def codes(taxonomy: Taxonomy) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in check_taxonomy(taxonomy)]


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
