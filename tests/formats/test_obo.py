from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import fastobo
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.strategies import Growth, growths, names, quickly

HEADER = "format-version: 1.4\nontology: food\n"
FRUIT = "\n[Term]\nid: F:1\nname: fruit\n"
APPLE = "\n[Term]\nid: F:2\nname: apple\nis_a: F:1 ! fruit\n"
KIWI = Concept("F:3", "kiwi")

# Special characters of OBO, and characters that are or look like line ends.
SIGNS = [*'{}!"\\:[]%', "\n", "\r", "\t", "\f", "\x0b", "\x85", "\u2028", "http://a/"]


def awkward() -> st.SearchStrategy[str]:
    pieces = st.one_of(st.sampled_from(SIGNS), names(breaks=True))
    joined = st.lists(pieces, min_size=1, max_size=5).map("".join)
    return joined.map(str.strip).filter(bool)


def source(text: str, name: str = "food.obo") -> TextFile:
    return TextFile(Path(name), text)


def taxonomy(text: str) -> Taxonomy:
    return FORMATS["obo"].read(source(HEADER + text)).taxonomy


def refusal(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        FORMATS["obo"].read(source(text))
    return str(caught.value)


def expanded_text(text: str, additions: Additions) -> str:
    """Return the expanded text, after checking that all of the old text surrounds the insertion."""
    old = source(text)
    expanded = FORMATS["obo"].read(old).taxonomy.expanded(additions)
    (insertions,) = FORMATS["obo"].extend(old, expanded, additions).values()
    (insertion,) = insertions
    new = old.apply(insertions).decode()
    assert new == text[: insertion.offset] + insertion.text + text[insertion.offset :]
    return new


def under(*parents: str, concept: Concept = KIWI) -> Additions:
    return Additions([concept], [(parent, concept.id) for parent in parents])


def copied(original: Taxonomy) -> str:
    (text,) = FORMATS["obo"].write(original, Target(Path("My food.obo"))).files.values()
    return text


def test_all_clauses_of_a_taxonomy_are_read() -> None:
    text = r"""
[Term]
id: F:1
name: fruit

[Term]
id: F:2
name: apple
namespace: pantry
alt_id: F:99
def: "A \"pome\"." [WP:Apple "Apple, the fruit"] {source="me"}
comment: round
synonym: "pomme" EXACT [lang:fr]
synonym: "malus" BROAD LATIN [] {since="1753"} ! by Linnaeus
synonym: "windfall" RELATED []
xref: WP:Apple
is_a: F:1 {source="me", note="a ! b"} ! fruit
relationship: part_of F:9 ! tree
intersection_of: F:1

[Term]
id: F:3
name: quince
is_a: F:1
is_obsolete: true

[Term]
id: F:4
is_obsolete: false ! not yet
"""
    assert taxonomy(text) == Taxonomy(
        [
            Concept("F:1", "fruit"),
            Concept("F:2", "apple", ("pomme", "malus", "windfall"), 'A "pome".'),
            Concept("F:3", "quince", deprecated=True),
            Concept("F:4", "F:4"),
        ],
        [("F:1", "F:2"), ("F:1", "F:3")],
    )


def test_typedefs_instances_comments_and_private_tags_are_ignored() -> None:
    text = (
        "! made by hand\n" + FRUIT + "! indeed\nshelf: 3 {!\n\n"
        "[Typedef]\nid: part_of\nname: part of\nis_a: overlaps\n\n"
        "[Instance]\nid: this_apple\ninstance_of: F:1\n\n[Annotation]\nid: x\n" + APPLE
    )
    assert taxonomy(text).ids == ("F:1", "F:2")


def test_an_import_is_neither_fetched_nor_read(tmp_path: Path) -> None:
    (tmp_path / "more.obo").write_text(HEADER + APPLE)
    text = f"import: {tmp_path / 'more.obo'}\nimport: http://127.0.0.1:9/x.obo\n"
    assert taxonomy(text + FRUIT).ids == ("F:1",)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (r"name: a \{b\} \! \\ c", r"a {b} ! \ c"),
        ('name: "so called"   ! or not', '"so called"'),
        ('name: a {since="1753"} ! c', "a"),
        (r"name: two\nlines", "two\nlines"),
        ("  name:a:b ", "a:b"),
        ("name: é水🍏", "é水🍏"),
        ("id: GO:0001", "GO:0001"),
        ("id: GO:a:b ! comment", "GO:a:b"),
        (r"id: GO:a\:b", "GO:a:b"),
        ('id: fruit {x="y"}', "fruit"),
        (r"id: red\ fruit", "red fruit"),
        ("id: http://example.org/a%20b#c", "http://example.org/a%20b#c"),
        (r'id: http://example.org/é {x="y"}', "http://example.org/é"),
    ],
)
def test_names_and_ids_are_unescaped(line: str, text: str) -> None:
    id = "" if line.startswith("id") else "id: a\n"
    (concept,) = taxonomy(f"\n[Term]\n{id}{line}\n").concepts
    assert text == (concept.label if id else concept.id)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('def: "C:\\\\" []\nsynonym: "\\\\" EXACT []', Concept("a", "a", ("\\",), "C:\\")),
        ('synonym: "b" []', Concept("a", "a", ("b",))),
        ('def: "" []\nsynonym: " " EXACT []', Concept("a", "a")),
    ],
    ids=["final-backslash", "no-scope", "blank"],
)
def test_quoted_texts_are_read(lines: str, expected: Concept) -> None:
    assert taxonomy(f"\n[Term]\nid: a\n{lines}\n").concept("a") == expected


PIECES = ['"', "a", " ", "é", ":", "[", "\u00a0", "水", "'", "=", r"\{", r"\!", r"\n", r"\t", r"\q"]


@given(st.lists(st.sampled_from(PIECES)).map("".join), st.sampled_from(["", ' {x="y", z="!"}']))
@quickly
def test_names_are_read_as_by_fastobo(name: str, qualifiers: str) -> None:
    text = f"[Term]\nid: x\nname: x{name}{qualifiers} ! c\n"
    assert taxonomy(text).labels == (fastobo.loads(text)[0][0].name.strip(),)


def test_a_term_may_have_several_stanzas() -> None:
    text = FRUIT + APPLE + '\n[Term]\nid: F:2\nname: apple\ndef: "red" []\nis_a: F:4\n'
    read = taxonomy(text + '\n[Term]\nid: F:4\nsynonym: "b" EXACT []\n')
    assert read.concept("F:2") == Concept("F:2", "apple", (), "red")
    assert read.parents("F:2") == ("F:1", "F:4")


def test_a_parent_from_another_file_is_added_and_noted_once() -> None:
    text = APPLE + "is_a: X:1\n\n[Term]\nid: F:5\nis_a: F:1\nis_a: X:1 ! late\n"
    document = FORMATS["obo"].read(source(HEADER + text))
    assert document.taxonomy.concept("F:1").label == "fruit"
    assert document.taxonomy.concept("X:1").label == "X:1"
    assert document.taxonomy.roots == ("F:1", "X:1")
    assert [(note.line, note.id) for note in document.notes] == [(7, "F:1"), (8, "X:1")]


def test_the_label_after_a_parent_with_qualifiers_is_read() -> None:
    text = '\n[Term]\nid: a\nis_a: X:1 {source="a ! b"} ! fruit\n'
    assert taxonomy(text).concept("X:1").label == "fruit"


def test_relationships_of_terms_without_a_parent_are_noted() -> None:
    core = "\n[Term]\nid: F:3\nrelationship: part_of F:2 ! apple\nrelationship: has_part F:1\n"
    (note,) = FORMATS["obo"].read(source(FRUIT + APPLE + core)).notes
    assert "part_of (1) and has_part (1), which are not read" in note.message
    assert note.line == 11
    known = FRUIT + APPLE + "relationship: part_of F:1\n"
    assert not FORMATS["obo"].read(source(known)).notes


def test_a_repeated_parent_is_noted() -> None:
    (note,) = FORMATS["obo"].read(source(FRUIT + APPLE + "is_a: F:1\n")).notes
    assert (note.line, note.message) == (10, "'F:2' under 'F:1' occurs more than once")


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (HEADER, None, "no concept"),
        ("[Term]\nname: fruit\n", 1, "no id lines"),
        ("[Term]\nid: a\nid: b\n", 3, "2 id lines"),
        ("[Term]\nid: a\n[Term\nid: b\n", 3, "not the start of a stanza"),
        ("[Term]\nid: a b\n", 2, "'a b' is not valid OBO"),
        ("[Term]\nid: \\ \n", 2, "the id is blank"),
        ("[Term]\nid: a\nname: a {b}\n", 3, "'a {b}' is not valid OBO"),
        ("[Term]\nid: a\ndef: red\n", 3, "double quotes"),
        ('[Term]\nid: a\nsynonym: "red\n', 3, "double quotes"),
        ("[Term]\nid: a\nis_obsolete: yes\n", 3, "write true or false"),
        ("[Term]\nid: a\nname: b\n\n[Term]\nid: a\nname: c\n", 7, "a second name"),
        ('[Term]\nid: a\ndef: "b" []\ndef: "c" []\n', 4, "a second def"),
        ("[Term]\nid: a\nis_a: a\n", 3, "its own parent"),
    ],
)
def test_an_invalid_file_is_refused(text: str, line: int | None, word: str) -> None:
    place = f", line {line}: " if line else ": "
    assert refusal(text).startswith(f"food.obo{place}")
    assert word in refusal(text)


def test_a_cycle_is_refused_with_its_lines() -> None:
    message = refusal("[Term]\nid: a\nis_a: b\n\n[Term]\nid: b\nname: x\nis_a: a\n")
    assert message.startswith("food.obo, line 3: a cycle: ")
    assert message.endswith("lines 3, 8)")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("food.obo", "anything", True),
        ("FOOD.OBO", "anything", True),
        ("food.txt", "format-version: 1.2\n", True),
        ("food.txt", "! ours\n\n[Term]\nid: a\n", True),
        ("food.txt", "! ours\r\n\r\n[Term] \r\nid: a\r\n", True),
        ("food.obo", "", False),
        ("food.csv", "child,parent\n[Term],\n", False),
        ("food.txt", "a > b\n", False),
    ],
)
def test_a_file_is_recognized_by_name_or_content(name: str, text: str, expected: bool) -> None:
    assert FORMATS["obo"].can_read(source(text, name)) is expected


def test_a_stanza_is_added_after_the_last_term() -> None:
    text = HEADER + FRUIT + APPLE + "\n! relations\n[Typedef]\nid: part_of\n"
    kiwi = Concept("F:3", "kiwi", ("kiwifruit", "actinidia"), 'a "hairy" berry')
    assert expanded_text(text, under("F:1", "F:2", concept=kiwi)) == (
        HEADER + FRUIT + APPLE + "\n[Term]\nid: F:3\nname: kiwi\n"
        'def: "a \\"hairy\\" berry" []\n'
        'synonym: "kiwifruit" EXACT []\nsynonym: "actinidia" EXACT []\n'
        "is_a: F:1 ! fruit\nis_a: F:2 ! apple\n"
        "\n! relations\n[Typedef]\nid: part_of\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[Term]\nid: F:1", "[Term]\nid: F:1\n\n[Term]\nid: F:3\nname: kiwi\nis_a: F:1 ! F:1\n"),
        (
            "[Term]\nid: F:1\n\n\n",
            "[Term]\nid: F:1\n\n[Term]\nid: F:3\nname: kiwi\nis_a: F:1 ! F:1\n\n\n",
        ),
        (
            "[Term]\nid: F:1\n[Typedef]\nid: p",
            "[Term]\nid: F:1\n\n[Term]\nid: F:3\nname: kiwi\nis_a: F:1 ! F:1\n\n[Typedef]\nid: p",
        ),
        (
            "[Term]\r\nid: F:1\r\n\r\n[Typedef]\r\nid: p\r\n",
            "[Term]\r\nid: F:1\r\n\r\n[Term]\r\nid: F:3\r\nname: kiwi\r\nis_a: F:1 ! F:1\r\n"
            "\r\n[Typedef]\r\nid: p\r\n",
        ),
    ],
)
def test_a_blank_line_separates_stanzas(old: str, new: str) -> None:
    assert expanded_text(old, under("F:1")) == new


def test_a_new_term_is_in_the_namespace_of_its_parent() -> None:
    text = HEADER + FRUIT + "namespace: sweet ! for now\n" + APPLE
    additions = Additions(
        [Concept("F:4", "hairy kiwi"), KIWI, Concept("F:5", "pear")],
        [("F:3", "F:4"), ("F:2", "F:3"), ("F:1", "F:3"), ("F:2", "F:5")],
    )
    added = expanded_text(text, additions)[len(text) :]
    assert "id: F:3\nname: kiwi\nnamespace: sweet\n" in added
    assert "id: F:4\nname: hairy kiwi\nnamespace: sweet\n" in added
    assert "id: F:5\nname: pear\nis_a: F:2 ! apple\n" in added


def test_provenance_is_written_as_obo_clauses() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=timezone(timedelta(hours=2)))
    additions = Additions([KIWI], [("F:1", "F:3")], agent="taxoexpan {x}", when=when)
    text = expanded_text(HEADER + FRUIT, additions)
    assert text.endswith(
        "is_a: F:1 ! fruit\ncreated_by: taxoexpan \\{x\\}\ncreation_date: 2026-01-02T01:04:05Z\n"
    )
    stanza = fastobo.loads(text)[1]
    assert [clause.raw_tag() for clause in stanza] == [
        "name",
        "is_a",
        "created_by",
        "creation_date",
    ]
    assert stanza[3].date == datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)


def test_a_parent_may_be_from_another_file() -> None:
    text = expanded_text(HEADER + APPLE, under("F:1"))
    assert text.endswith("name: kiwi\nis_a: F:1 ! fruit\n")
    assert FORMATS["obo"].read(source(text)).taxonomy.children("F:1") == ("F:2", "F:3")


def test_empty_additions_change_nothing() -> None:
    old = source(HEADER + FRUIT)
    assert FORMATS["obo"].extend(old, FORMATS["obo"].read(old).taxonomy, Additions([], [])) == {
        old.path: []
    }


@given(growths(ids=awkward(), labels=awkward(), details=True), st.sampled_from(["\n", "\r\n"]))
@quickly
def test_the_old_text_is_kept_and_the_new_text_reads_back_in_full(
    growth: Growth, newline: str
) -> None:
    text = copied(growth.old).replace("\n", newline) + "\n[Typedef]\nid: part_of\n"
    if not growth.additions.concepts:
        return
    new = expanded_text(text, growth.additions)
    assert FORMATS["obo"].read(source(new)).taxonomy == growth.old.expanded(growth.additions)
    assert len(fastobo.loads(new)) == len(growth.old) + len(growth.additions.concepts) + 1


def test_a_new_file_has_a_header_and_stanzas() -> None:
    original = Taxonomy(
        [Concept("F:1", "fruit"), Concept("a b", "a\nb", ("c",), "d")], [("F:1", "a b")]
    )
    assert copied(original) == (
        "format-version: 1.4\nontology: my-food\n" + FRUIT + "\n[Term]\nid: a\\ b\nname: a\\nb\n"
        'def: "d" []\nsynonym: "c" EXACT []\nis_a: F:1 ! fruit\n'
    )


def test_an_obsolete_term_is_written_without_parents() -> None:
    original = Taxonomy(
        [Concept("a", "a"), Concept("b", "b", deprecated=True), Concept("c", "c")],
        [("a", "b"), ("b", "c")],
    )
    text = copied(original)
    assert "[Term]\nid: b\nname: b\nis_obsolete: true\n" in text
    read = FORMATS["obo"].read(source(text)).taxonomy
    assert set(read.concepts) == set(original.concepts)
    assert set(read.relations) == {("b", "c")}


@given(growths(ids=awkward(), labels=awkward(), details=True).map(lambda growth: growth.old))
@example(Taxonomy([Concept("\\", "\\", ("\\", '\\"'), "a\\")]))
@quickly
def test_a_new_file_reads_back_and_is_valid_obo(original: Taxonomy) -> None:
    text = copied(original)
    assert FORMATS["obo"].read(source(text)).taxonomy == original
    assert len(fastobo.loads(text)) == len(original)


def test_unsupported_content_is_adapted() -> None:
    original = Taxonomy([Concept(" a ", " b ", (" c ", " "), " d ")])
    assert list(FORMATS["obo"].read(source(copied(original))).taxonomy.concepts) == [
        Concept(" a ", "b", ("c",), "d")
    ]


def test_ids_with_another_meaning_are_reserved() -> None:
    text = (
        "[Term]\nid: F:1\nname: food\nalt_id: F:2\n\n[Term]\nid: F:3\nis_obsolete: true\n"
        "consider: F:4\nreplaced_by: F:5\n\n[Typedef]\nid: part_of\n"
    )
    taxonomy = FORMATS["obo"].read(TextFile(Path("food.obo"), text)).taxonomy
    assert taxonomy.reserved == {"F:2", "F:4", "F:5", "part_of"}
