from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from builders import random_taxonomy, star
from growing import written
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import quickly, taxonomies

from taxoexpan.curation.checks import CODES, Finding, lint, lint_file
from taxoexpan.curation.checks.one_edit_apart import MOST_ALIKE, one_edit_apart
from taxoexpan.curation.checks.redundant_relations import TOGETHER
from taxoexpan.curation.checks.structure import LONGEST_CHAIN, MOST_CHILDREN
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.english import singular


def build(labels: dict[str, str], *relations: str) -> Taxonomy:
    concepts = [Concept(id, label) for id, label in labels.items()]
    return Taxonomy(concepts, [(pair[0], pair[1]) for pair in relations])


def siblings(*labels: str) -> Taxonomy:
    ids = "abcdefghijkl"[: len(labels)]
    names = dict(zip(ids, labels, strict=True))
    return build({"r": "everything", **names}, *(f"r{id}" for id in ids))


def cousins(first: str, second: str) -> Taxonomy:
    names = {"r": "everything", "x": "one", "y": "other", "a": first, "b": second}
    return build(names, "rx", "ry", "xa", "yb")


def codes(taxonomy: Taxonomy) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in lint(taxonomy)]


def chain(count: int) -> Taxonomy:
    names = [f"c{i}" for i in range(count)]
    return Taxonomy.from_columns(names, names, np.arange(count - 1), np.arange(1, count))


def test_a_clean_taxonomy_has_no_findings() -> None:
    assert lint(build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc")) == []


@quickly
@given(taxonomies())
def test_whatever_is_found_has_a_code_of_the_table_and_a_place_in_the_taxonomy(
    taxonomy: Taxonomy,
) -> None:
    for finding in lint(taxonomy):
        assert finding.severity in (CODES[finding.code].severity, "warning")
        assert finding.place in taxonomy


# Relations


def test_an_isolated_concept_is_a_warning() -> None:
    found = lint(build({"a": "food", "b": "fruit", "s": "stone"}, "ab"))
    message = "'stone' has neither parent nor child"
    assert found == [Finding("isolated-concept", "warning", "s", message)]


def test_a_deprecated_concept_may_be_isolated() -> None:
    concepts = [Concept("a", "food"), Concept("b", "fruit"), Concept("s", "stone", deprecated=True)]
    assert lint(Taxonomy(concepts, [("a", "b")])) == []


def test_a_concept_with_only_deprecated_parents_is_a_warning() -> None:
    old = [Concept("o", "victuals", deprecated=True), Concept("p", "grub", deprecated=True)]
    new = [Concept("r", "food"), Concept("a", "apple"), Concept("b", "bread")]
    relations = [("r", "a"), ("o", "a"), ("o", "b"), ("p", "b")]
    message = (
        "'bread' is in force, but its parents 'victuals' (o), 'grub' (p) are all deprecated; "
        "give it a parent in force, or deprecate it too"
    )
    found = lint(Taxonomy([*old, *new], relations))
    assert found == [Finding("deprecated-parent", "warning", "b", message)]


def test_a_deprecated_concept_may_have_deprecated_parents() -> None:
    old = [Concept("o", "victuals", deprecated=True), Concept("p", "grub", deprecated=True)]
    assert lint(Taxonomy([*old, Concept("r", "food")], [("o", "p"), ("r", "o")])) == []


def test_a_branch_beside_a_root_that_holds_most_is_an_orphan() -> None:
    labels = {"r": "food", "a": "apple", "b": "bread", "t": "tool", "h": "hammer"}
    message = (
        "'tool' has children but no parent, while the root 'food' (r) reaches 3 of 5 concepts; "
        "is a relation missing?"
    )
    found = lint(build(labels, "ra", "rb", "th"))
    assert found == [Finding("orphan-concept", "info", "t", message)]


def test_what_a_root_reaches_through_any_parent_counts() -> None:
    labels = {"t": "tool", "h": "hammer", "r": "food", "a": "apple", "b": "bread", "c": "corn"}
    assert [f.place for f in lint(build(labels, "th", "ra", "rb", "hc", "rc"))] == ["t"]


def test_no_branch_is_an_orphan_where_no_root_holds_most() -> None:
    labels = {"r": "food", "a": "apple", "t": "tool", "h": "hammer"}
    assert lint(build(labels, "ra", "th")) == []


def test_a_parent_that_is_an_ancestor_anyway_is_redundant() -> None:
    taxonomy = build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc", "ac")
    message = "'apple' is under 'food' (a) directly, and through another parent as well"
    assert lint(taxonomy) == [Finding("redundant-relation", "info", "c", message)]


def test_a_redundant_parent_is_found_through_a_long_way() -> None:
    taxonomy = build(dict(zip("abcde", "vwxyz", strict=True)), "ab", "bc", "cd", "de", "ae")
    assert [finding.place for finding in lint(taxonomy)] == ["e"]


def test_two_ways_to_one_ancestor_are_not_redundant() -> None:
    taxonomy = build(dict(zip("abcd", "wxyz", strict=True)), "ab", "ac", "bd", "cd")
    assert lint(taxonomy) == []


@pytest.mark.parametrize("together", [3, TOGETHER])
@pytest.mark.parametrize("seed", range(15))
def test_the_redundant_relations_are_those_without_which_nothing_is_lost(
    seed: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taxoexpan.curation.checks.redundant_relations.TOGETHER", together)
    taxonomy = random_taxonomy(seed)
    needless = [
        child
        for child in taxonomy
        for parent in taxonomy.parents(child)
        if any(parent in taxonomy.ancestors(other) for other in taxonomy.parents(child))
    ]
    found = [f.place for f in lint(taxonomy) if f.code == "redundant-relation"]
    assert sorted(found) == sorted(needless)


def test_a_chain_that_is_too_long_is_told_once_where_it_becomes_so() -> None:
    (finding,) = lint(chain(LONGEST_CHAIN + 5))
    assert (finding.code, finding.severity) == ("long-chain", "info")
    assert finding.place == f"c{LONGEST_CHAIN}"
    assert "holds 21 concepts, and goes on for 4 more; look for a relation" in finding.message


def test_of_two_ways_down_the_longer_is_counted() -> None:
    names = [f"c{i}" for i in range(LONGEST_CHAIN + 4)]
    last = len(names) - 1
    parents = [*range(last), LONGEST_CHAIN]
    children = [*range(1, last + 1), last]
    taxonomy = Taxonomy.from_columns(names, names, np.array(parents), np.array(children))
    assert "goes on for 3 more" in next(f.message for f in lint(taxonomy) if f.code == "long-chain")


def test_the_longest_good_chain_is_no_finding() -> None:
    assert lint(chain(LONGEST_CHAIN)) == []


def test_very_many_children_make_a_hub() -> None:
    (finding,) = lint(star(MOST_CHILDREN + 1))
    assert (finding.code, finding.severity, finding.place) == ("hub", "info", "c0")
    assert "'c0' has 201 children" in finding.message
    assert lint(star(MOST_CHILDREN)) == []


# Names that are the very same


def test_a_label_that_concepts_share_is_worth_knowing() -> None:
    taxonomy = build({"a": "food", "b": "tool", "c": "date", "d": " date"}, "ac", "bd")
    message = "'date' is the label of 2 concepts (also: d)"
    assert lint(taxonomy) == [Finding("repeated-label", "info", "c", message)]


def test_a_label_that_siblings_share_is_a_warning() -> None:
    labels = {"a": "food", "b": "tool", "c": "date", "d": "date"}
    taxonomy = build(labels, "ab", "ac", "ad")
    message = (
        "'date' is the label of 2 children of 'food' (a); merge them, or tell them apart (also: d)"
    )
    assert lint(taxonomy) == [Finding("repeated-sibling", "warning", "c", message)]


def test_siblings_of_one_label_are_named_even_when_others_have_it_too() -> None:
    labels = {"a": "food", "b": "fruit", "c": "date", "d": "date", "e": "date"}
    found = lint(build(labels, "ab", "ac", "bd", "be"))
    assert [(f.code, f.place) for f in found] == [
        ("repeated-sibling", "d"),
        ("repeated-label", "c"),
    ]


def test_siblings_of_two_parents_are_told_once() -> None:
    labels = {"r": "all", "a": "food", "b": "gift", "c": "date", "d": "date"}
    taxonomy = build(labels, "ra", "rb", "ac", "ad", "bc", "bd")
    assert codes(taxonomy) == [("repeated-sibling", "warning")]


def test_roots_of_one_label_are_no_siblings() -> None:
    taxonomy = build({"a": "food", "b": "food", "c": "fig", "d": "date"}, "ac", "bd")
    assert codes(taxonomy) == [("repeated-label", "info")]


def test_of_many_concepts_with_one_label_only_some_are_named() -> None:
    assert lint(siblings(*"xxxxxxxx"))[0].message.endswith("(also: b, c, d, e, f, …)")


def test_blank_labels_are_not_the_same_name() -> None:
    assert lint(siblings("", "", " ")) == []
    assert lint(siblings("-", "_", "--")) == []


def test_a_deprecated_concept_may_bear_the_name_of_another() -> None:
    concepts = [Concept("r", "food"), Concept("a", "fig"), Concept("b", "fig", deprecated=True)]
    assert lint(Taxonomy(concepts, [("r", "a"), ("r", "b")])) == []


def named(*relations: str, **synonyms: str) -> Taxonomy:
    labels = {"r": "food", "s": "drink", "a": "soda", "b": "pop", "c": "cola"}
    concepts = [
        Concept(id, label, tuple(synonyms[id].split("|")) if id in synonyms else ())
        for id, label in labels.items()
    ]
    return Taxonomy(concepts, [(pair[0], pair[1]) for pair in relations])


def test_a_label_that_is_a_synonym_elsewhere_is_worth_knowing() -> None:
    found = lint(named("rs", "ra", "sb", "bc", b="Soda|fizz"))
    message = "'soda' is a synonym of 'pop' (b) as well"
    assert found == [Finding("label-is-synonym", "info", "a", message)]


@pytest.mark.parametrize(
    ("relations", "how"),
    [
        (("rs", "ra", "rb", "bc"), "'pop' (b) as well, and both are under 'food' (r)"),
        (("rs", "ra", "ab", "bc"), "'pop' (b) as well, which is its child"),
        (("rs", "ba", "rb", "bc"), "'pop' (b) as well, which is its parent"),
    ],
)
def test_a_label_that_is_a_synonym_next_to_it_is_a_warning(
    relations: tuple[str, ...], how: str
) -> None:
    (finding,) = lint(named(*relations, b="soda"))
    assert (finding.code, finding.severity, finding.place) == ("label-is-synonym", "warning", "a")
    assert f"{how}; if they are one, merge them, or drop the synonym" in finding.message


def test_a_label_that_is_a_synonym_of_several_is_told_once() -> None:
    (finding,) = lint(named("rs", "ra", "sb", "sc", b="soda", c="soda|SODA"))
    assert finding.message == "'soda' is a synonym of 'pop' (b) as well (and of 1 more)"


def test_a_concept_may_have_its_own_label_as_a_synonym() -> None:
    assert lint(named("rs", "ra", "rb", "bc", a="Soda")) == []


# Names that are nearly the same


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
def test_case_spaces_and_hyphens_do_not_tell_names_apart(first: str, second: str) -> None:
    message = f"{first!r} and {second!r} (b) differ only in case, spaces or hyphens"
    mend = "; if they are one, merge them"
    found = lint(cousins(first, second))
    assert found == [Finding("similar-label", "info", "a", message + mend)]
    message += ", and both are under 'everything' (r)" + mend
    found = lint(siblings(first, second))
    assert found == [Finding("similar-label", "warning", "a", message)]


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
def test_one_and_many_are_one_name(one: str, many: str) -> None:
    assert singular(many) == singular(one)
    (finding,) = lint(siblings(f"toy {one}", f"Toy {many.title()}"))
    assert (finding.code, finding.severity) == ("similar-label", "warning")
    assert "differ only in singular and plural" in finding.message


@pytest.mark.parametrize("word", ["glass", "virus", "analysis", "gas", "fish"])
def test_not_every_s_makes_a_plural(word: str) -> None:
    assert singular(word) == word


def test_only_the_last_word_has_a_plural() -> None:
    assert lint(siblings("arms race", "arm race")) == []


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
def test_two_spellings_of_one_name_are_a_warning_among_siblings(first: str, second: str) -> None:
    assert codes(cousins(first, second)) == [("similar-label", "info")]
    (finding,) = lint(siblings(first, second))
    assert finding.severity == "warning"
    assert "look like two spellings of one name, and both are under" in finding.message


@pytest.mark.parametrize("wrong", ["strawbery jam", "strqwberry jam", "strawberrxy jam"])
def test_a_slip_of_one_letter_is_worth_knowing(wrong: str) -> None:
    (finding,) = lint(cousins("strawberry jam", wrong))
    assert (finding.code, finding.severity, finding.place) == ("similar-label", "info", "a")


def test_a_slip_is_no_warning_even_among_siblings_since_it_may_be_none() -> None:
    (finding,) = lint(siblings("macroscopic model", "microscopic model"))
    message = (
        "'macroscopic model' and 'microscopic model' (b) differ in one letter, "
        "and both are under 'everything' (r); is one of them misspelt?"
    )
    assert finding == Finding("similar-label", "info", "a", message)


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
def test_one_edit_between_different_things_is_no_finding(first: str, second: str) -> None:
    assert lint(siblings(first, second)) == []


def test_words_that_are_used_elsewhere_are_not_misspelt() -> None:
    assert codes(siblings("film format", "file format")) == [("similar-label", "info")]
    assert lint(siblings("film format", "file format", "film", "file")) == []


def test_names_with_a_common_bearer_of_both_are_compared_by_name_and_not_by_concept() -> None:
    labels = {"r": "all", "x": "one", "y": "two", "a": "pear", "b": "pear", "c": "Pear", "d": "fig"}
    found = lint(build(labels, "rx", "ry", "xa", "yb", "yc", "rd"))
    assert [(f.code, f.severity, f.place) for f in found] == [
        ("repeated-label", "info", "a"),
        ("similar-label", "warning", "b"),
    ]


def distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def shortened(text: str) -> set[str]:
    return {text[:i] + text[i + 1 :] for i in range(len(text))}


def slowly_one_edit_apart(texts: Sequence[str]) -> set[tuple[str, str]]:
    found = set()
    for first, second in combinations(texts, 2):
        if distance(first, second) != 1:
            continue
        longer, shorter = sorted((first, second), key=len, reverse=True)
        meetings = shortened(longer) & (shortened(shorter) | {shorter})
        (meeting,) = (text for text in meetings if len(longer) > len(shorter) or text != shorter)
        alike = sum(text == meeting or meeting in shortened(text) for text in texts)
        changed = [c for c in set(longer + shorter) if longer.count(c) != shorter.count(c)]
        if alike <= MOST_ALIKE and not any(map(str.isdigit, changed)):
            found.add((first, second))
    return found


@quickly
@example([])
@example([""])
@example(["", "a", "1"])
@example(["".join(letters) for size in range(4) for letters in product("abc1", repeat=size)])
@example([f"{a}{b}{c}" for a in "xy" for b in "abcdefghijkl" for c in "mn"])
@given(st.lists(st.text("abcd12水", max_size=4), unique=True, max_size=60))
def test_one_edit_apart_are_exactly_those_that_a_slow_search_finds(texts: list[str]) -> None:
    edits = one_edit_apart(texts)
    pairs = [
        (texts[min(a, b)], texts[max(a, b)])
        for a, b in zip(edits.longer.tolist(), edits.shorter.tolist(), strict=True)
    ]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == slowly_one_edit_apart(texts)
    for a, b, place in zip(edits.longer, edits.shorter, edits.places, strict=True):
        longer, shorter = texts[a], texts[b]
        assert longer[:place] == shorter[:place]
        assert longer[place + 1 :] == shorter[place + 1 + len(shorter) - len(longer) :]


def test_a_pattern_that_many_labels_follow_is_passed_over() -> None:
    letters = "bcdfghjklmnp"[: MOST_ALIKE + 1]
    assert lint(siblings(*(f"motorway e{letter}it" for letter in letters))) == []
    assert lint(siblings(*(f"motorway e{letter}it" for letter in letters[:-1]))) != []


# Files


def test_every_cycle_in_a_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\na,b\nb,a\nc,d\nd,e\ne,c\nf,a\n")
    found = lint_file(path)
    assert {(finding.code, finding.severity) for finding in found} == {("cycle", "error")}
    assert [set(finding.place) <= set("abcde") for finding in found] == [True, True]
    for finding, members in zip(found, ("ab", "cde"), strict=True):
        assert finding.place in members
        path_spelled = finding.message.removeprefix("a cycle: ").partition(";")[0].split(" → ")
        assert path_spelled[0] == path_spelled[-1] == finding.place
        assert set(path_spelled) == set(members)
        assert "remove one of these relations" in finding.message


def test_a_file_that_cannot_be_read_is_one_error_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\nb,a\na,a\n")
    (finding,) = lint_file(path)
    assert (finding.code, finding.severity, finding.place) == ("unreadable", "error", "line 3")


def test_an_error_of_the_whole_file_has_the_file_as_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "empty.csv", "")
    (finding,) = lint_file(path)
    assert finding.place == str(path)


def test_a_missing_file_is_an_error_and_not_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        lint_file(tmp_path / "missing.csv")


def test_what_was_noticed_in_the_file_comes_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\na,b\na,b\n")
    message = "'a' under 'b' occurs more than once"
    assert lint_file(path) == [Finding("file", "warning", "line 3", message)]


def test_a_concept_without_a_label_in_the_file_is_named_by_its_id(tmp_path: Path) -> None:
    text = """
    @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    <http://food.org/1> a skos:Concept ; skos:prefLabel "food" .
    <http://food.org/2> a skos:Concept ; skos:broader <http://food.org/1> .
    """
    (finding,) = lint_file(written(tmp_path / "food.ttl", text))
    assert (finding.code, finding.severity) == ("missing-label", "info")
    assert finding.place == "http://food.org/2"


def test_a_clean_file_has_no_findings(tmp_path: Path) -> None:
    assert lint_file(written(tmp_path / "food.csv", "child,parent\na,b\n")) == []


def test_a_named_format_is_used_for_linting(tmp_path: Path) -> None:
    path = written(tmp_path / "food.csv", "child,parent\na,b\n")
    (finding,) = lint_file(path, "rows")
    assert "the header must name id or label, and parents" in finding.message
    with pytest.raises(ConfigurationError, match="there is no format 'xml'"):
        lint_file(path, "xml")
