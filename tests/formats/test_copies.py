"""New files of every format read back, except for content that the format cannot hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Copy, Target
from taxoexpan.formats.openfoodfacts.blocks import tag_id
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference
from tests.support.awkward_taxonomies import IDS, LABELS, awkward
from tests.support.strategies import names, quickly

BREAKS = re.compile(r"[\t\r\n]+")
ANYTHING = awkward(IDS, LABELS, names(breaks=True))


@dataclass(frozen=True)
class Case:
    """A format, a file name, and the content that the format supports; by default everything."""

    format: str
    name: str
    complete: st.SearchStrategy[Taxonomy]
    """Taxonomies that the format stores completely."""
    keeps_label: Callable[[Taxonomy, Concept], bool] = lambda *_: True
    keeps_synonym: Callable[[str], bool] = lambda _: True
    keeps_definitions: bool = True
    """Line breaks in a definition may become spaces."""
    keeps_deprecated: bool = True
    keeps_parents: bool = True
    """All parents; otherwise the first one, if the concept is not deprecated."""

    def __str__(self) -> str:
        return f"{self.format}-{self.name}"


def bare(*case: Any, **options: Any) -> Case:
    """Return the case of a format without synonyms, definitions and deprecated concepts."""
    nothing = {"keeps_definitions": False, "keeps_deprecated": False}
    return Case(*case, keeps_synonym=lambda _: False, **nothing, **options)


def has_unique_path(taxonomy: Taxonomy, concept: Concept) -> bool:
    """Return whether a label can be in a path, and no sibling by first parents has it."""
    above = [taxonomy.parents(id)[:1] for id in taxonomy]
    labels = [label.replace(">", "›") for label in taxonomy.labels]
    mine = (taxonomy.parents(concept.id)[:1], concept.label)
    return (
        not set(concept.label) & set(">\n\r")
        and Counter(zip(above, labels, strict=True))[mine] == 1
    )


def has_unique_line(taxonomy: Taxonomy, concept: Concept) -> bool:
    """Return whether a label has a unique path, and no tab, after which a definition follows."""
    return has_unique_path(taxonomy, concept) and "\t" not in concept.label


def unrepeated(taxonomy: Taxonomy) -> Taxonomy:
    """Return the taxonomy without repeated synonyms and synonyms that equal the label."""
    return Taxonomy(
        [
            replace(c, synonyms=tuple(s for s in dict.fromkeys(c.synonyms) if s != c.label))
            for c in taxonomy.concepts
        ],
        taxonomy.relations,
    )


def single_lines(taxonomy: Taxonomy) -> Taxonomy:
    """Return the taxonomy with definitions of one line."""
    concepts = [replace(c, definition=BREAKS.sub(" ", c.definition)) for c in taxonomy.concepts]
    return Taxonomy(concepts, taxonomy.relations)


def own_paths(taxonomy: Taxonomy) -> Taxonomy:
    """Return the taxonomy with paths as ids."""
    ids = {id: " > ".join(taxonomy.path(id)) for id in taxonomy}
    concepts = [replace(concept, id=ids[concept.id]) for concept in taxonomy.concepts]
    return Taxonomy(concepts, [(ids[above], ids[below]) for above, below in taxonomy.relations])


def fits_on_a_line(name: str) -> bool:
    """Return whether Open Food Facts can store a name; a final backslash would escape a comma."""
    return not BREAKS.search(name) and not name.endswith("\\")


def has_unique_tag(taxonomy: Taxonomy, concept: Concept) -> bool:
    """Return whether Open Food Facts derives an id from a label that no other label gives."""
    own = tag_id("en", concept.label)
    return (
        bool(own)
        and fits_on_a_line(concept.label)
        and [tag_id("en", label) for label in taxonomy.labels].count(own) == 1
        and not any(tag_id("en", id) == own for id in taxonomy)
    )


def tagged(taxonomy: Taxonomy) -> Taxonomy:
    """Return the taxonomy with the ids that Open Food Facts derives from the labels."""
    ids = {c.id: f"en:{tag_id('en', c.label)}" for c in taxonomy.concepts}
    concepts = [replace(c, id=ids[c.id], deprecated=False) for c in taxonomy.concepts]
    return Taxonomy(concepts, [(ids[above], ids[below]) for above, below in taxonomy.relations])


TERMS = awkward(names(), names())
EDGES = awkward(names(breaks=True))
WORDS = names(without="|", breaks=True)
LINES = WORDS.map(lambda word: word.replace("\n", " "))
ROWS = awkward(WORDS, LABELS, LINES) | awkward(IDS, LABELS, LINES, most_parents=1)
PATHS = awkward(names(without=">"), most_parents=1)
BARE_PATHS = awkward(names(without=">#:-"), most_parents=1).map(own_paths)
OUTLINES = awkward(names(without=">"), most_parents=1).map(own_paths)
EVERYTHING = awkward(names(breaks=True), LABELS, names(breaks=True))
IRIS = st.text("abcé水/-", max_size=5).map(lambda text: f"http://food.org/{text}")
RESOURCES = awkward(IRIS, LABELS, WORDS).map(lambda taxonomy: unrepeated(taxonomy))
ACTIVE_TERMS = awkward(names(breaks=True), LABELS, WORDS).map(lambda all: all.active).filter(len)

TAGS = st.text("abcé水 ,-", min_size=1, max_size=6).map(str.strip)
TAGGED = (
    awkward(TAGS.filter(lambda tag: tag_id("en", tag)), None, names().filter(fits_on_a_line))
    .filter(lambda all: len({tag_id("en", label) for label in all.labels}) == len(all))
    .map(lambda all: unrepeated(tagged(single_lines(all))))
)

CASES = [
    bare("terms", "food.terms", TERMS, lambda _, concept: not set(concept.label) & set("\t\n\r")),
    *(
        bare("edges", name, EDGES, lambda all, concept: all.labels.count(concept.label) == 1)
        for name in ("food.csv", "food.tsv")
    ),
    *(
        Case("rows", name, ROWS, keeps_synonym=lambda word: {"|", "\n"}.isdisjoint(word))
        for name in ("food.csv", "food.tsv")
    ),
    bare("paths", "food.txt", BARE_PATHS, has_unique_path, keeps_parents=False),
    bare("paths", "food.tsv", PATHS, has_unique_path, keeps_parents=False),
    bare("outline", "food.md", OUTLINES, has_unique_path, keeps_parents=False),
    bare("outline", "food.txt", OUTLINES, has_unique_line, keeps_parents=False),
    *(Case("json", name, EVERYTHING) for name in ("food.json", "food.jsonl")),
    Case("obographs", "food.json", RESOURCES),
    *(Case("skos", f"food.{suffix}", RESOURCES) for suffix in ("ttl", "rdf", "nt", "jsonld")),
    *(Case("owl", f"food.{suffix}", RESOURCES) for suffix in ("owl", "ttl", "nt", "jsonld")),
    Case("obo", "food.obo", ACTIVE_TERMS, keeps_parents=False),
    Case(
        "openfoodfacts",
        "food.txt",
        TAGGED,
        has_unique_tag,
        fits_on_a_line,
        keeps_deprecated=False,
    ),
]
of_every_format = pytest.mark.parametrize("case", CASES, ids=str)


def written(case: Case, taxonomy: Taxonomy, folder: Path) -> Copy:
    return FORMATS[case.format].write(taxonomy, Target(folder / case.name))


def copied(case: Case, taxonomy: Taxonomy) -> tuple[Copy, Taxonomy]:
    """Write a taxonomy; return the copy, and the taxonomy read back."""
    with TemporaryDirectory() as folder:
        try:
            copy = written(case, taxonomy, Path(folder))
        except FormatError as error:
            # Without a relation there is no `>`, and a sign in labels could be the separator.
            assume("read as separators of paths" not in str(error))
            raise
        for path, text in copy.files.items():
            path.write_bytes(text.encode("utf-8"))
        return copy, FORMATS[case.format].read(TextFile.load(next(iter(copy.files)))).taxonomy


@of_every_format
@given(data=st.data())
@quickly
def test_supported_content_is_copied_completely(case: Case, data: st.DataObject) -> None:
    taxonomy = data.draw(case.complete)
    _, reread = copied(case, taxonomy)
    assert reread == taxonomy


@of_every_format
@given(taxonomy=ANYTHING)
@quickly
def test_a_copy_lacks_only_unsupported_content(case: Case, taxonomy: Taxonomy) -> None:
    copy, reread = copied(case, taxonomy)
    assert sorted(map(copy.id_of, taxonomy)) == sorted(reread)
    difference = Difference(mapped(taxonomy, copy), reread)
    assert not difference.relations_added
    for parent, child in difference.relations_removed:
        assert not case.keeps_parents
        lost = difference.old.concept(child)
        assert lost.deprecated or difference.old.parents(child)[0] != parent
    old_ids = {copy.id_of(id): id for id in taxonomy}
    for change in difference.changed:
        old, new = change.old, change.new
        if case.keeps_label(taxonomy, taxonomy.concept(old_ids[old.id])):
            assert new.label == old.label
        assert {word for word in old.synonyms if case.keeps_synonym(word)} <= {
            *new.synonyms,
            new.label,
        }
        definition = old.definition if case.keeps_definitions else ""
        assert new.definition in (definition, BREAKS.sub(" ", definition))
        assert new.deprecated == (old.deprecated and case.keeps_deprecated)


def mapped(taxonomy: Taxonomy, copy: Copy) -> Taxonomy:
    """Return the taxonomy with the ids of its copy."""
    return Taxonomy(
        [replace(concept, id=copy.id_of(concept.id)) for concept in taxonomy.concepts],
        [(copy.id_of(parent), copy.id_of(child)) for parent, child in taxonomy.relations],
    )


def roots(*labels: str) -> Taxonomy:
    """Return concepts without relations, with numbers as ids."""
    return Taxonomy([Concept(str(number), label) for number, label in enumerate(labels)])


def case_of(name: str) -> Case:
    return next(case for case in CASES if str(case) == name)


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("edges-food.csv", ("a", "a", "a (1)"), ("a (0)", "a (1)-2", "a (1)")),
        ("edges-food.csv", ("parent", "child"), ("parent", "child")),
        ("paths-food.tsv", ("a", "a", "a-2"), ("a", "a-3", "a-2")),
        ("paths-food.txt", ("a>b", "a\nb"), ("a›b", "a b")),
        ("terms-food.terms", ("a\tb", "a\r\nb"), ("a b", "a b")),
    ],
)
def test_a_label_changes_only_if_necessary(
    name: str, labels: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    copy, reread = copied(case_of(name), roots(*labels))
    assert tuple(reread.concept(copy.id_of(str(n))).label for n in range(len(labels))) == expected


@pytest.mark.parametrize("label", ["path", "garden, path", "child;path", "\ufeffa", "#a"])
def test_the_first_path_is_not_read_as_a_header_or_comment(label: str) -> None:
    numbered, own = roots(label), Taxonomy([Concept(label, label)])
    for taxonomy in (numbered, own):
        _, reread = copied(case_of("paths-food.txt"), taxonomy)
        assert reread.labels == (label,)


@of_every_format
def test_a_byte_order_mark_in_an_id_loses_no_concept(case: Case) -> None:
    taxonomy = Taxonomy(
        [Concept("\ufeff \ufeffa", "b"), Concept("c", "d")], [("\ufeff \ufeffa", "c")]
    )
    copy, reread = copied(case, taxonomy)
    assert reread.parents(copy.id_of("c")) == (copy.id_of("\ufeff \ufeffa"),)


def test_ids_with_the_separator_stay_if_they_are_unambiguous() -> None:
    concepts = [Concept(id, id) for id in ("a|b", "a", "b", "c")]
    case = case_of("rows-food.csv")
    alone = Taxonomy(concepts, [("a|b", "c"), ("a", "b")])
    assert copied(case, alone)[1] == alone
    for parents in (("a|b", "a"), ("a", "b")):
        copy, reread = copied(case, Taxonomy(concepts, [(p, "c") for p in parents]))
        assert copy.id_of("a|b") == "a/b"
        assert reread.parents("c") == tuple(map(copy.id_of, parents))


@of_every_format
def test_many_equal_labels_get_distinct_ids(case: Case) -> None:
    taxonomy = roots(*["a"] * 500)
    copy, reread = copied(case, taxonomy)
    assert len(set(map(copy.id_of, taxonomy))) == len(reread) == len(taxonomy)


@of_every_format
@pytest.mark.parametrize("depth", [200, 201])
def test_only_paths_have_a_maximum_depth(case: Case, depth: int) -> None:
    ids = [f"c{n}" for n in range(depth)]
    chain = Taxonomy([Concept(id, id) for id in ids], pairwise(ids))
    if case.format in ("paths", "outline") and depth > 200:
        with pytest.raises(FormatError) as caught:
            written(case, chain, Path())
        assert str(caught.value).startswith(
            f"{case.name}: the path of 'c200' would have more than 200 parts"
        )
    else:
        assert copied(case, chain)[1].depth == depth
