from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.tables.path_layouts import MARKER
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import (
    KIWI,
    added_text,
    csv_lines,
    expand_file,
    expansion_refusal,
    refusal,
    under,
    write_expanded,
    write_file,
)
from tests.support.strategies import Growth, Style, growths, names, quickly, styles

SHOPIFY = """\
# Shopify Product Taxonomy - Categories: 2024-07
# Format: {GID} : {Ancestor name} > ... > {Category name}

gid://shopify/TaxonomyCategory/fo     : Food
gid://shopify/TaxonomyCategory/fo-1   : Food > Fruit
gid://shopify/TaxonomyCategory/fo-1-1 : Food > Fruit > Apples
"""
GOOGLE = """\
# Google_Product_Taxonomy_Version: 2021-09-21
412 - Food
430 - Food > Fruit
6566 - Food > Fruit > Apples
"""
BARE = """\
# Google_Product_Taxonomy_Version: 2021-09-21
Food
Food > Fruit
Food > Fruit > Apples
"""
TABLE = """\
id,path
1,Food
2,Food > Fruit
3,Food > Fruit > Apples
"""


def file(folder: Path, text: str, name: str = "food.txt") -> Path:
    return write_file(folder / name, text)


def foods(*ids: str) -> Taxonomy:
    concepts = map(Concept, ids, ("Food", "Fruit", "Apples"))
    return Taxonomy(concepts, [(ids[0], ids[1]), (ids[1], ids[2])])


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (SHOPIFY, [f"gid://shopify/TaxonomyCategory/fo{end}" for end in ("", "-1", "-1-1")]),
        (GOOGLE, ["412", "430", "6566"]),
        (BARE, ["Food", "Food > Fruit", "Food > Fruit > Apples"]),
        (BARE.replace(" > ", ">"), ["Food", "Food > Fruit", "Food > Fruit > Apples"]),
        (TABLE, ["1", "2", "3"]),
        (TABLE.replace(",", ";"), ["1", "2", "3"]),
        (TABLE.replace("id,path", "code,Category Path"), ["1", "2", "3"]),
        (
            "path\nFood\nFood>Fruit\nFood>Fruit>Apples\n",
            ["Food", "Food > Fruit", "Food > Fruit > Apples"],
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_all_layouts_of_paths_are_read(
    tmp_path: Path, text: str, ids: list[str], newline: str, mark: str
) -> None:
    path = file(tmp_path, mark + text.replace("\n", newline))
    assert TaxonomyFile.open(path, "paths").taxonomy == foods(*ids)
    assert TaxonomyFile.open(path, "paths").notes == ()


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        *(("x.txt", text, ("Food", "Fruit", "Apples")) for text in (SHOPIFY, GOOGLE, BARE, TABLE)),
        ("x.txt", "A > Other\nB > Other\n", ("A", "Other", "B", "Other")),
        ("x.txt", "A > B > C\nA > B\nA\n", ("C", "B", "A")),
        ("x.txt", "a > b\nlevel 1|level 2\na > c\n", ("a", "b", "level 1|level 2", "c")),
        ("x.dat", f"{MARKER}a\nlevel 1|level 2\na > b\n", ("a", "level 1|level 2", "b")),
    ],
)
def test_paths_are_detected_by_content(
    tmp_path: Path, name: str, text: str, labels: tuple[str, ...]
) -> None:
    assert TaxonomyFile.open(file(tmp_path, text, name)).taxonomy.labels == labels


def test_an_ancestor_without_a_line_is_added_with_a_note(tmp_path: Path) -> None:
    document = TaxonomyFile.open(file(tmp_path, "1 - Food\n9 - Food > Fruit > Apples\n"), "paths")
    assert document.taxonomy == Taxonomy(
        [Concept("1", "Food"), Concept("Food > Fruit", "Fruit"), Concept("9", "Apples")],
        [("1", "Food > Fruit"), ("Food > Fruit", "9")],
    )
    (note,) = document.notes
    message = "'Food > Fruit' has no line of its own; it is added as a category"
    assert (note.line, note.message) == (2, message)


def test_a_single_root_is_read_if_the_format_is_given(tmp_path: Path) -> None:
    assert TaxonomyFile.open(file(tmp_path, "Food\n"), "paths").taxonomy.labels == ("Food",)


def test_categories_with_ids_may_have_the_same_path(tmp_path: Path) -> None:
    lines = ["1 - A", "2 - A > B", "3 - A > B > C", "4 - A > B", "5 - A > B > D", "6 - A > E"]
    path = file(tmp_path, "".join(f"{line}\n" for line in lines))
    opened = TaxonomyFile.open(path)
    assert [opened.taxonomy.parents(id) for id in "2345"] == [("1",), ("2",), ("1",), ("4",)]
    assert opened.supported_changes == frozenset()
    for parent in "235":
        message = expansion_refusal(path, under(parent))
        assert "two categories have the path 'A > B'; rename one" in message
    new = expand_file(path, under("6", concept=Concept("7", "kiwi")))
    assert TaxonomyFile.open(new).taxonomy.parents("7") == ("6",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\nA > > B\n", ", line 2: the path 'A > > B' has an empty part"),
        ("A\nA > \n", ", line 2: the path 'A >' has an empty part"),
        ("A > B\n> B\n", ", line 2: the path '> B' has an empty part"),
        ("path,x\nA,1\n,2\n", ", line 3: the path '' has an empty part"),
        ("A\nA > B\n\nA>B\n", ", line 4: the path 'A > B' is already on line 2"),
        ("1 - A\n2 - A > B\n1 - A > C\n", ", line 3: the id '1' is already used on line 1"),
        ("# nothing\n", ": the file has no concept"),
        ("id,path\n", ": the file has no concept"),
        ("id,path\n1,A,B\n", ", line 2: the row has 3 cells, but the header has 2"),
        (" > ".join("A" * 201), ", line 1: a path with 201 parts, but at most 200"),
    ],
)
def test_an_invalid_path_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = file(tmp_path, text)
    assert refusal(path, "paths").startswith(f"{path}{message}")


def label_paths(taxonomy: Taxonomy) -> set[tuple[str, ...]]:
    return {taxonomy.path(id) for id in taxonomy}


NAMES = names(without=">")


@given(growths(ids=names(without=">#:-*+.)"), most_parents=1), styles())
@quickly
def test_an_expanded_file_of_bare_paths_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, style: Style
) -> None:
    # Without an id of its own, a concept is known by its path.
    path = tmp_path_factory.mktemp("paths") / "food.txt"
    path.write_bytes(style.encode([" > ".join(growth.old.path(id)) for id in growth.old]))
    old = TaxonomyFile.open(path, "paths").taxonomy
    ids = {old.concept(id).label: id for id in old}
    relations = [(ids.get(parent, parent), child) for parent, child in growth.additions.relations]
    additions = Additions(growth.additions.concepts, relations)
    new = TaxonomyFile.open(expand_file(path, additions, "paths"), "paths").taxonomy
    assert label_paths(old) == label_paths(growth.old)
    assert label_paths(new) == label_paths(growth.old.expanded(growth.additions))


def numbered(growth: Growth, pattern: str) -> Growth:
    """The same with ids after a pattern, the names being labels only."""
    all_names = [*growth.old, *(concept.id for concept in growth.additions.concepts)]
    ids = {name: pattern.format(n) for n, name in enumerate(all_names, start=1)}
    old, new = (
        Additions(
            [Concept(ids[c.id], c.label) for c in concepts],
            [(ids[p], ids[c]) for p, c in relations],
        )
        for concepts, relations in (
            (growth.old.concepts, growth.old.relations),
            (growth.additions.concepts, growth.additions.relations),
        )
    )
    return Growth(Taxonomy(old.concepts, old.relations), new)


@pytest.mark.parametrize(
    ("pattern", "mark"), [("gid://shop/{}", " : "), ("gid://shop/{}", "   : "), ("{}", " - ")]
)
@given(growth=growths(ids=NAMES, most_parents=1), style=styles())
@quickly
def test_an_expanded_file_of_paths_with_ids_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory,
    growth: Growth,
    style: Style,
    pattern: str,
    mark: str,
) -> None:
    growth = numbered(growth, pattern)
    old = growth.old
    path = tmp_path_factory.mktemp("paths") / "food.txt"
    path.write_bytes(style.encode([f"{id}{mark}{' > '.join(old.path(id))}" for id in old]))
    assert TaxonomyFile.open(path, "paths").taxonomy == old
    new = TaxonomyFile.open(expand_file(path, growth.additions, "paths"), "paths").taxonomy
    assert new == old.expanded(growth.additions)


@given(growths(ids=NAMES, most_parents=1), styles())
@quickly
def test_an_expanded_table_of_paths_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, style: Style
) -> None:
    growth = numbered(growth, "c{}")
    old = growth.old
    assume(old.relations)  # without a separator, signs in labels may be read as one
    rows = [("id", "path"), *((id, " > ".join(old.path(id))) for id in old)]
    path = tmp_path_factory.mktemp("paths") / "food.csv"
    path.write_bytes(style.encode(csv_lines(rows)))
    assert TaxonomyFile.open(path).taxonomy == old
    assert TaxonomyFile.open(expand_file(path, growth.additions)).taxonomy == old.expanded(
        growth.additions
    )


GID = "gid://shopify/TaxonomyCategory/fo"


@pytest.mark.parametrize(
    ("text", "parent", "id", "expected"),
    [
        (SHOPIFY, f"{GID}-1", f"{GID}-2", f"{GID}-2   : Food > Fruit > kiwi\n"),
        (GOOGLE, "430", "7000", "7000 - Food > Fruit > kiwi\n"),
        (BARE, "Food > Fruit", "kiwi", "Food > Fruit > kiwi\n"),
        (BARE[:-1], "Food > Fruit", "kiwi", "\nFood > Fruit > kiwi\n"),
        (BARE.replace("\n", "\r\n"), "Food > Fruit", "kiwi", "Food > Fruit > kiwi\r\n"),
        (TABLE, "2", "4", "4,Food > Fruit > kiwi\n"),
        ("path,name,seen\nA > B,B,7\n", "A > B", "kiwi", "A > B > kiwi,kiwi,\n"),
        ("path\nA\nA/B\nA / C\n", "A", "kiwi", "A/kiwi\n"),
        ("path\nA\nA / B\nA / C\n", "A", "kiwi", "A / kiwi\n"),
    ],
)
def test_a_new_line_follows_the_pattern_of_the_others(
    tmp_path: Path, text: str, parent: str, id: str, expected: str
) -> None:
    additions = under(parent, concept=Concept(id, "kiwi"))
    assert added_text(write_file(tmp_path / "food.csv", text), additions) == expected


def test_new_concepts_may_have_new_parents(tmp_path: Path) -> None:
    berry = Concept("berry", "Berries")
    additions = Additions([KIWI, berry], [("Food > Fruit", "berry"), ("berry", "kiwi")])
    new = TaxonomyFile.open(expand_file(file(tmp_path, BARE), additions)).taxonomy
    assert new.path("Food > Fruit > Berries > kiwi") == ("Food", "Fruit", "Berries", "kiwi")


@pytest.mark.parametrize(
    ("text", "parent", "id", "lost"),
    [
        (GOOGLE, "412", "7000", ["synonyms", "definitions"]),
        (BARE, "Food", "7000", ["ids", "synonyms", "definitions"]),
        (TABLE, "1", "7000", ["synonyms", "definitions"]),
    ],
)
def test_unsupported_data_is_returned_as_lost(
    tmp_path: Path, text: str, parent: str, id: str, lost: list[str]
) -> None:
    additions = under(parent, concept=Concept(id, "kiwi", ("actinidia",), "a fruit"))
    assert write_expanded(file(tmp_path, text), additions, tmp_path / "new.txt").lost == lost


DEEP = " > ".join(f"p{n}" for n in range(200))
NAMES_WITH_SIGNS = ("Cats > Dogs", "Cats>Dogs", "Cats\nDogs", " Cats", "Cats\r", "")


@pytest.mark.parametrize(
    ("text", "additions", "message"),
    [
        (BARE, under("Food", "Food > Fruit"), "'kiwi' has 2 parents, but a path has only one"),
        *(
            (BARE, under("Food", concept=Concept("new", name)), f"{name!r} would not be read back")
            for name in NAMES_WITH_SIGNS
        ),
        (BARE, under(concept=Concept("new", "#1 pick")), "'#1 pick' would not be read back"),
        *(
            (text, under(parent, concept=Concept("7000", "Apples")), "the path 'Food > Fruit > App")
            for text, parent in ((BARE, "Food > Fruit"), (GOOGLE, "430"), (TABLE, "2"))
        ),
        (GOOGLE, under("412", concept=Concept("new1", "kiwi")), "'new1 - Food > kiwi' would not"),
        (SHOPIFY, under(GID, concept=Concept("two words", "kiwi")), "'two words"),
        (DEEP, under(DEEP), "the path of 'kiwi' would have 201 parts, but at most 200"),
    ],
)
def test_additions_that_would_not_read_back_are_refused(
    tmp_path: Path, text: str, additions: Additions, message: str
) -> None:
    path = file(tmp_path, text)
    assert expansion_refusal(path, additions).startswith(f"{path}: {message}")


def test_only_a_line_that_starts_with_a_hash_is_a_comment(tmp_path: Path) -> None:
    additions = under("Food", concept=Concept("new", "#1 pick"))
    assert added_text(file(tmp_path, BARE), additions) == "Food > #1 pick\n"


@pytest.mark.parametrize("name", ["می\u200cخواهم", "👩\u200d🍳", "rock\u00a0salt"])
def test_names_with_invisible_characters_are_kept(tmp_path: Path, name: str) -> None:
    new = TaxonomyFile.open(
        expand_file(file(tmp_path, BARE), under("Food", concept=Concept("new", name)))
    ).taxonomy
    assert new.path(f"Food > {name}") == ("Food", name)


@pytest.mark.parametrize(
    "text", ["Path,Note,Count\nA,x,1\nA > B,y,2\n", "Level 1,Level 2,Note,Count\nA,,x,1\nA,B,y,2\n"]
)
def test_other_columns_are_counted_as_ignored(tmp_path: Path, text: str) -> None:
    parsed = TaxonomyFile.open(write_file(tmp_path / "x.csv", text)).parsed
    assert parsed.ignored == {"column 'Note'": 2, "column 'Count'": 2}


@pytest.mark.parametrize(("others", "found"), [(3, True), (4, False)])
def test_a_quarter_of_the_lines_must_be_paths(tmp_path: Path, others: int, found: bool) -> None:
    lines = ["A > B", *(f"line {letter}" for letter in "xyzw"[:others])]
    text = TextFile.load(file(tmp_path, "\n".join(lines)))
    assert FORMATS["paths"].can_read(text) is found


def test_a_table_without_columns_of_paths_is_not_read_as_lines(tmp_path: Path) -> None:
    text = TextFile.load(file(tmp_path, "name,note\na > b,x\nc > d,y\n", "x.csv"))
    assert FORMATS["paths"].can_read(text) is False


@pytest.mark.parametrize("sign", ["/", " / ", " » ", "|", "::", "\\", ">", "›"])
def test_paths_of_a_table_may_have_another_separator(tmp_path: Path, sign: str) -> None:
    rows = [["Food"], ["Food", "Fruit"], ["Food", "Fruit", "Apple"]]
    text = "".join(f"{n},{sign.join(row)}\n" for n, row in enumerate(rows, start=1))
    path = write_file(tmp_path / "x.csv", f"id,path\n{text}")
    taxonomy = TaxonomyFile.open(path).taxonomy
    assert taxonomy.labels == ("Food", "Fruit", "Apple")
    assert list(taxonomy.relations) == [("1", "2"), ("2", "3")]
    written = " > " if sign == ">" else sign
    assert added_text(path, under("2")) == f"kiwi,{written.join(['Food', 'Fruit', 'kiwi'])}\n"


def test_a_move_keeps_the_separator(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "id,path\n1,Food\n2,Food/Fruit\n3,Food/Fruit/Fig\n")
    exotic = Concept("4", "Exotic")
    additions = Additions([exotic], [("2", "4")], moves=[Move("3", "2", "4")])
    TaxonomyFile.open(path).write(additions, tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == (
        "id,path\n1,Food\n2,Food/Fruit\n3,Food/Fruit/Exotic/Fig\n4,Food/Fruit/Exotic\n"
    )


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("path\nFood/Fruit/Fig\nFood/Fruit/Pear\n", ("Food", "Fruit", "Fig", "Pear")),
        ("path\nTV/Radio\nBed\nOther\n", ("TV/Radio", "Bed", "Other")),
    ],
)
def test_a_sign_separates_labels_if_paths_have_parents_in_common(
    tmp_path: Path, text: str, labels: tuple[str, ...]
) -> None:
    path = write_file(tmp_path / "x.csv", text)
    assert TaxonomyFile.open(path).taxonomy.labels == labels


def test_a_sign_that_may_be_part_of_labels_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "path\nTV/Radio\nBed/Bath\nHe/She\nOther\n")
    assert refusal(path).startswith(
        f"{path}, line 2: the paths have no '>', and it is not clear whether '/' separates labels"
    )


@pytest.mark.parametrize("labels", [("a", "a/b", "a/c"), ("TV/Radio", "Bed/Bath", "He/She")])
def test_labels_that_would_be_read_as_paths_are_not_written(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    flat = Taxonomy([Concept(label, label) for label in labels])
    with pytest.raises(FormatError, match="signs in the labels would be read as separators"):
        FORMATS["paths"].write(flat, Target(tmp_path / "x.csv"))


@pytest.mark.parametrize(
    ("name", "relations"), [("x.txt", list[tuple[str, str]]()), ("x.csv", [("a", "a/b")])]
)
def test_labels_with_signs_are_written_as_lines_or_with_a_relation(
    tmp_path: Path, name: str, relations: list[tuple[str, str]]
) -> None:
    taxonomy = Taxonomy([Concept(id, id) for id in ("a", "a/b", "a/c")], relations)
    (path, text), *_ = FORMATS["paths"].write(taxonomy, Target(tmp_path / name)).files.items()
    path.write_text(text)
    assert TaxonomyFile.open(path).taxonomy == taxonomy


OVERTURE = (
    "\ufeffCategory code; Overture Taxonomy\r\n"
    "eat_and_drink; [eat_and_drink]\r\n"
    "restaurant; [eat_and_drink,restaurant]\r\n"
    "afghan_restaurant; [eat_and_drink,restaurant,afghan_restaurant]\r\n"
)
"""In the layout of Overture's categories: a byte order mark, and paths in brackets."""


def test_paths_in_brackets_are_read_and_written(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "x.csv", OVERTURE), tmp_path / "y.csv"
    taxonomy = read_taxonomy(path)
    assert list(taxonomy.relations) == [
        ("eat_and_drink", "restaurant"),
        ("restaurant", "afghan_restaurant"),
    ]
    TaxonomyFile.open(path).write(under("restaurant"), output)
    added = "kiwi;[eat_and_drink,restaurant,kiwi]\r\n"
    assert output.read_bytes().decode() == OVERTURE + added


def test_the_header_is_found_where_cells_contain_another_delimiter(tmp_path: Path) -> None:
    text = OVERTURE.replace("Overture Taxonomy", "Way").replace("Category code", "Which")
    deep = "kabul_grill; [eat_and_drink,restaurant,asian,afghan_restaurant,kabul_grill]\r\n"
    message = refusal(write_file(tmp_path / "x.csv", text + deep))
    assert "line 1: the columns do not say" in message
    assert "   1  Which\n   2  Way\n" in message


def test_the_separator_of_paths_can_be_chosen(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "path\nfood\nfood-fruit\nfood-fruit-red/green apple\n")
    assert read_taxonomy(path, separator="-").labels[-1] == "red/green apple"
