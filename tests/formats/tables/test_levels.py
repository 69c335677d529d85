from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.tables.path_layouts import LevelStyle, cells_for
from taxoexpan.formats.tables.table import table_text
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import expansion_refusal, refusal, under, write_file
from tests.support.strategies import Growth, growths, names, quickly

FULL = "id,level 1,level 2,level 3\n1,food,,\n2,food,fruit,\n3,food,fruit,apple\n4,tools,,\n"
OUTLINE = "id,level 1,level 2,level 3\n1,food,,\n2,,fruit,\n3,,,apple\n\n4,tools,,\n"
FOOD = [("1", "2"), ("2", "3")]
KIWI = Concept("9", "kiwi")


@pytest.mark.parametrize("text", [FULL, OUTLINE, OUTLINE.replace("2,,fruit", "2,food,fruit")])
def test_both_styles_are_read(tmp_path: Path, text: str) -> None:
    taxonomy = TaxonomyFile.open(write_file(tmp_path / "x.csv", text)).taxonomy
    assert list(taxonomy.relations) == FOOD
    assert taxonomy.labels == ("food", "fruit", "apple", "tools")


def test_leaves_alone_state_their_ancestors(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "Tier 1,Tier 2\nfood,apple\nfood,pear\n,fig\n")
    file = TaxonomyFile.open(path)
    assert file.taxonomy.children("food") == ("food > apple", "food > pear", "food > fig")
    assert not file.notes


@pytest.mark.parametrize(
    ("text", "parent", "row", "line"),
    [
        (FULL, "2", 5, "9,food,fruit,kiwi"),
        (FULL, "1", 5, "9,food,kiwi,"),
        (OUTLINE, "2", 4, "9,,,kiwi"),
        (OUTLINE, "1", 4, "9,,kiwi,"),
        (OUTLINE, "4", 6, "9,,kiwi,"),
    ],
)
def test_a_new_row_follows_the_style(
    tmp_path: Path, text: str, parent: str, row: int, line: str
) -> None:
    path, output = write_file(tmp_path / "x.csv", text), tmp_path / "y.csv"
    TaxonomyFile.open(path).write(under(parent, concept=KIWI), output)
    lines = text.splitlines()
    assert output.read_text().splitlines() == [*lines[:row], line, *lines[row:]]


def test_rows_of_an_outline_follow_their_parents(tmp_path: Path) -> None:
    new = [Concept(id, id) for id in ("r", "c", "b", "a")]
    relations = [("1", "r"), ("b", "c"), ("2", "b"), ("2", "a")]
    path, output = write_file(tmp_path / "x.csv", OUTLINE), tmp_path / "y.csv"
    file = TaxonomyFile.open(path)
    file.write(Additions(new[:1] + new[2:], [r for r in relations if r[1] != "c"]), output)
    assert output.read_text().splitlines()[4:7] == ["b,,,b", "a,,,a", "r,,r,"]
    assert "would be on level 4, but the table has 3 levels" in expansion_refusal(
        path, Additions(new, relations)
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("5,,,", "all level columns of this row are empty; fill one, or remove the row"),
        ("5,food,,pear", "the column 'level 2' is empty between two levels; fill it"),
        ("5,,,pear", "the column 'level 2' is empty between two levels; fill it"),
        ("5,food,fruit,", "the path 'food > fruit' is already on line 3; remove one"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, row: str, message: str) -> None:
    path = write_file(tmp_path / "x.csv", f"{FULL}{row}\n")
    assert refusal(path) == f"{path}, line 6: {message}"


def test_a_table_of_levels_can_be_converted(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", FULL)
    done = convert(path, Target(tmp_path / "x.json"))
    assert list(done.copy.relations) == FOOD


@pytest.mark.parametrize("style", LevelStyle)
@given(growth=growths(ids=names(without=">", breaks=False), most_parents=1, details=True))
@quickly
def test_expanded_tables_of_levels_read_back(style: LevelStyle, growth: Growth) -> None:
    whole = growth.old.expanded(growth.additions)
    depth = max(2, whole.depth)
    with TemporaryDirectory() as folder:
        path, output = Path(folder) / "x.csv", Path(folder) / "y.csv"
        header = ["id", "definition", *(f"level {n + 1}" for n in range(depth)), "synonyms"]
        concepts = map(growth.old.concept, in_order(growth.old))
        rows = [
            [
                c.id,
                c.definition,
                *cells_for(growth.old.path(c.id), style, depth),
                "|".join(c.synonyms),
            ]
            for c in concepts
        ]
        path.write_bytes(table_text(path, header, rows).encode())
        file = TaxonomyFile.open(path)
        assert same(file.taxonomy, growth.old)
        file.write(growth.additions, output)
        assert same(TaxonomyFile.open(output).taxonomy, whole)
        old = path.read_bytes().splitlines()
        assert [line for line in output.read_bytes().splitlines() if line in old] == old


def in_order(taxonomy: Taxonomy) -> list[str]:
    """Return the ids so that each concept follows its parent."""
    stack, ordered = list(reversed(taxonomy.roots)), list[str]()
    while stack:
        ordered.append(stack.pop())
        stack += reversed(taxonomy.children(ordered[-1]))
    return ordered


def same(one: Taxonomy, other: Taxonomy) -> bool:
    relations = set(one.relations) == set(other.relations)
    return relations and set(one.concepts) == set(other.concepts)
