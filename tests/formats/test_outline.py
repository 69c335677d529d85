from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import refusal, under, write_expanded, write_file
from tests.support.strategies import names, quickly

FOODS = ["Food", "Food > Fruit", "Food > Fruit > Apples", "Food > Bread", "Drinks"]
INDENTED = "Food\n  Fruit\n    Apples\n  Bread\nDrinks\n"
TABS = "Food\n\tFruit\n\t\tApples\n\tBread\nDrinks\n"
BULLETS = "- Food\n  * Fruit\n    + Apples\n  * Bread\n- Drinks\n"
NUMBERS = "1. Food\n   1) Fruit\n      1. Apples\n   2) Bread\n2. Drinks\n"
LEVELS = "1. Food\n1.1. Fruit\n1.1.1. Apples\n1.2. Bread\n2. Drinks\n"
HEADINGS = "# Food\n\n## Fruit ##\n\n### Apples\n\n## Bread\n\n# Drinks\n"
SECTIONS = "# Food\n\nWhat people eat.\n\n## Fruit\n\n- Apples\n\n## Bread\n\n# Drinks\n"
MIXED = "Food\n  - Fruit\n    - Apples\n  - Bread\nDrinks\n"


def paths_in(path: Path, format: str | None = None) -> list[str]:
    return list(TaxonomyFile.open(path, format).taxonomy.ids)


def expanded(path: Path, *added: str) -> str:
    """Add concepts, given by their paths, and return the new text; old bytes must stay."""
    pairs = [tuple(each.rsplit(" > ", 1)) for each in added]
    concepts = [Concept(each, each.rsplit(" > ", 1)[-1]) for each in added]
    relations = [(pair[0], each) for pair, each in zip(pairs, added, strict=True) if pair[1:]]
    output = path.with_name(f"new{path.suffix}")
    write_expanded(path, Additions(concepts, relations), output, force=True)
    return output.read_bytes().decode("utf-8")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("x.txt", text) for text in (INDENTED, TABS, BULLETS, NUMBERS, LEVELS, MIXED)),
        *(("x", text) for text in (INDENTED, BULLETS, HEADINGS)),
        *(("x.md", text) for text in (INDENTED, BULLETS, NUMBERS, HEADINGS, SECTIONS)),
        ("x.txt", f"# My foods\n\n{INDENTED}"),
        ("x.txt", "1. Food\n   1.1 Fruit\n      1.1.1 Apples\n   1.2 Bread\n2. Drinks\n"),
    ],
)
def test_outlines_are_recognized_and_read(
    tmp_path: Path, name: str, text: str, newline: str
) -> None:
    path = write_file(tmp_path / name, text.replace("\n", newline))
    opened = TaxonomyFile.open(path)
    assert opened.format.name == "outline"
    assert list(opened.taxonomy.ids) == FOODS
    assert opened.taxonomy.concept("Food > Fruit > Apples").label == "Apples"


@pytest.mark.parametrize("text", ["apple\npear\n", "- apple\n- pear\n", "# foods\napple\npear\n"])
def test_a_flat_list_is_not_a_taxonomy(tmp_path: Path, text: str) -> None:
    message = refusal(write_file(tmp_path / "x.txt", text))
    assert "the format is not recognized" in message


@pytest.mark.parametrize("mark", ["", "- "])
def test_a_quarter_of_the_items_in_a_text_must_be_nested(tmp_path: Path, mark: str) -> None:
    nested = f"{mark}Food\n  {mark}Fruit\n{mark}Drinks\n{mark}Spices\n"
    assert len(paths_in(write_file(tmp_path / "x.txt", nested))) == 4
    flatter = f"{nested}{mark}Herbs\n"
    assert "not recognized" in refusal(write_file(tmp_path / "x.txt", flatter))
    if mark:
        assert len(paths_in(write_file(tmp_path / "x.md", flatter))) == 5


@pytest.mark.parametrize("text", [INDENTED, TABS, BULLETS])
def test_paths_are_not_read_from_an_outline(tmp_path: Path, text: str) -> None:
    path = write_file(tmp_path / "x.txt", text)
    message = refusal(path, "paths")
    assert message.startswith(f"{path}, line 2: ")
    assert "choose the format outline" in message
    assert "line 1: " in refusal(write_file(path, "- Food\n- Drinks\n"), "paths")


def test_indented_paths_are_still_read_as_paths(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.txt", "Food\n  Food > Fruit\n  Food > Bread\n")
    assert paths_in(path) == ["Food", "Food > Fruit", "Food > Bread"]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (INDENTED, "Food\n  Fruit\n    Apples\n    Pears\n  Bread\n  Rice\nDrinks\nSnacks\n"),
        (TABS, "Food\n\tFruit\n\t\tApples\n\t\tPears\n\tBread\n\tRice\nDrinks\nSnacks\n"),
        (
            BULLETS,
            "- Food\n  * Fruit\n    + Apples\n    + Pears\n  * Bread\n  * Rice\n- Drinks\n"
            "- Snacks\n",
        ),
        (
            NUMBERS,
            "1. Food\n   1) Fruit\n      1. Apples\n      2. Pears\n   2) Bread\n   3) Rice\n"
            "2. Drinks\n3. Snacks\n",
        ),
        (
            LEVELS,
            "1. Food\n1.1. Fruit\n1.1.1. Apples\n1.1.2. Pears\n1.2. Bread\n1.3. Rice\n2. Drinks\n"
            "3. Snacks\n",
        ),
        (
            HEADINGS,
            "# Food\n\n## Fruit ##\n\n### Apples\n\n### Pears\n\n## Bread\n\n## Rice\n\n# Drinks\n"
            "\n# Snacks\n",
        ),
        (
            SECTIONS,
            "# Food\n\nWhat people eat.\n\n## Fruit\n\n- Apples\n- Pears\n\n## Bread\n\n## Rice\n\n"
            "# Drinks\n\n# Snacks\n",
        ),
        (
            MIXED,
            "Food\n  - Fruit\n    - Apples\n    - Pears\n  - Bread\n  - Rice\nDrinks\nSnacks\n",
        ),
    ],
)
def test_new_lines_are_like_their_siblings(tmp_path: Path, text: str, new: str) -> None:
    path = write_file(tmp_path / "x.md", text)
    if "#" not in text:
        path = path.rename(tmp_path / "x.txt")
    assert expanded(path, "Food > Rice", "Snacks", "Food > Fruit > Pears") == new
    bare = write_file(path, text.removesuffix("\n"))
    assert expanded(bare, "Food > Rice", "Snacks", "Food > Fruit > Pears") == new


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (INDENTED, "    Rye\n      Old\nDrinks\n"),
        (TABS, "\tBread\n\t\tRye\n\t\t\tOld\nDrinks\n"),
        (BULLETS, "  * Bread\n    + Rye\n      + Old\n- Drinks\n"),
        (NUMBERS, "   2) Bread\n      1. Rye\n         1. Old\n2. Drinks\n"),
        (LEVELS, "1.2. Bread\n1.2.1. Rye\n1.2.1.1. Old\n2. Drinks\n"),
        (HEADINGS, "## Bread\n\n### Rye\n\n#### Old\n\n# Drinks\n"),
        (SECTIONS, "## Bread\n\n- Rye\n  - Old\n\n# Drinks\n"),
        (SECTIONS.replace("\n\n", "\n"), "## Bread\n- Rye\n  - Old\n# Drinks\n"),
    ],
)
def test_a_first_child_is_like_others_at_its_depth(tmp_path: Path, text: str, new: str) -> None:
    path = write_file(tmp_path / ("x.md" if "#" in text else "x.txt"), text)
    assert expanded(path, "Food > Bread > Rye", "Food > Bread > Rye > Old").endswith(new)


def test_lists_with_equal_numbers_or_blank_lines_keep_them(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.md", "1. Food\n   - Fruit\n\n   - Bread\n1. Drinks\n")
    new = "1. Food\n   - Fruit\n\n   - Bread\n\n   - Rice\n1. Drinks\n1. Snacks\n"
    assert expanded(path, "Food > Rice", "Snacks") == new


MARKDOWN = """---
tags: [food]
- not: a list
---

# Food

Some text.
- Fruit
  and berries

  with another paragraph

  - Apples
    ```
    - code

    - code
    ```
- Bread
lazy text

***

<!--
- hidden
-->
| a | table |
"""


def test_text_around_lists_is_kept_and_counted(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.md", MARKDOWN)
    opened = TaxonomyFile.open(path)
    assert list(opened.taxonomy.labels) == ["Food", "Fruit", "Apples", "Bread"]
    (note,) = opened.notes
    assert note.line == 1
    assert note.message.startswith("17 lines are not list items or headings")
    new = expanded(path, "Food > Rice", "Food > Fruit > Pears", "Food > Fruit > Apples > Red")
    assert "\n  - Apples\n    - Red\n    ```\n" in new
    assert "\n    ```\n  - Pears\n- Bread\nlazy text\n- Rice\n\n***\n" in new


@pytest.mark.parametrize("line", ["Some text.", "***"])
def test_a_single_line_around_a_list_is_noted(tmp_path: Path, line: str) -> None:
    path = write_file(tmp_path / "x.md", f"- Food\n  - Fruit\n\n{line}\n")
    (note,) = TaxonomyFile.open(path).notes
    assert note.line == 4
    assert note.message.startswith("this line is not a list item or a heading")


def test_a_level_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for text, line in {
        "- Food\n    - Fruit\n  - Bread\n": 3,
        "Food\n    Fruit\n\tBread\n": 3,
        "  - Food\n    - Fruit\n- Bread\n": 3,
    }.items():
        path = write_file(tmp_path / "x.txt", text)
        message = refusal(path)
        assert message.startswith(f"{path}, line {line}: 'Bread' is indented like no other line")
        assert "same spaces or tabs" in message


def test_tabs_and_spaces_before_bullets_end_at_the_same_columns(tmp_path: Path) -> None:
    text = "- Food\n\t- Fruit\n        - Apples\n    \t- Pears\n \t- Bread\n"
    path = write_file(tmp_path / "x.md", text)
    fruit = [f"Food > Fruit > {name}" for name in ("Apples", "Pears")]
    assert paths_in(path) == ["Food", "Food > Fruit", *fruit, "Food > Bread"]
    assert expanded(path, "Food > Rice") == f"{text} \t- Rice\n"


@pytest.mark.parametrize("blanks", [" ", " " * 8])
def test_a_first_child_in_markdown_begins_below_the_label(tmp_path: Path, blanks: str) -> None:
    text = f"- Food\n{blanks}- Fruit\n- Drinks\n"
    path = write_file(tmp_path / "x.md", text)
    assert expanded(path, "Drinks > Tea") == f"{text}  - Tea\n"


def test_new_lines_stay_inside_an_html_element(tmp_path: Path) -> None:
    text = "# Food\n\n<details>\n\n- Fruit\n- Bread\n</details>\n\n## Drinks\n"
    path = write_file(tmp_path / "x.md", text)
    assert expanded(path, "Food > Rice") == text.replace("- Bread\n", "- Bread\n- Rice\n")


def test_lines_that_all_begin_with_numbers_are_numbered(tmp_path: Path) -> None:
    text = "1 Food\n1.1 Fruit\n1.1.1 Apple\n2 Drinks\n2.1 Tea\n"
    path = write_file(tmp_path / "x.txt", text)
    assert paths_in(path)[2:] == ["Food > Fruit > Apple", "Drinks", "Drinks > Tea"]
    assert expanded(path, "Food > Fruit > Pear") == text.replace("2 Dr", "1.1.2 Pear\n2 Dr")
    write_file(path, "Food\n  7 Up\n  1.5 Cola\n")
    assert paths_in(path) == ["Food", "Food > 7 Up", "Food > 1.5 Cola"]


def test_labels_in_markdown_have_no_emphasis(tmp_path: Path) -> None:
    text = "# **Food**\n\n- _Fruit_\n- `Rice` and ~~Corn~~\n- snake_case_name\n- 2 * 3 * 4\n"
    path = write_file(tmp_path / "x.md", text)
    labels = ["Food", "Fruit", "Rice and Corn", "snake_case_name", "2 * 3 * 4"]
    assert list(TaxonomyFile.open(path).taxonomy.labels) == labels


def test_labels_in_markdown_are_the_texts_of_links(tmp_path: Path) -> None:
    text = """\
# Food [![badge](https://x.org/b.svg)](https://x.org)

- [Fruit](#fruit)
- [Bread](https://x.org/bread) - baked
- [ ] Rice
- [Tea](https://x.org/1)
- [Tea](https://x.org/2)

## Fruit

- [Apples](https://x.org/apples)
"""
    path = write_file(tmp_path / "x.md", text)
    labels = ["Food", "Bread", "Rice", "Tea", "[Tea](https://x.org/2)", "Fruit", "Apples"]
    opened = TaxonomyFile.open(path)
    assert list(opened.taxonomy.labels) == labels
    assert [note.line for note in opened.notes] == [3]
    assert expanded(path, "Food > Fruit > Pears") == f"{text}- Pears\n"
    write_file(path.with_suffix(".txt"), text)
    assert "Food > [ ] Rice" not in paths_in(path)
    assert any(id.endswith("[ ] Rice") for id in paths_in(path.with_suffix(".txt")))


AWESOME = """\
# Web

- [flask](https://x.org/flask) - A *micro* [framework](https://x.org)
- [django](https://en.wikipedia.org/wiki/Django_(framework)) – Batteries included
- **[bottle](https://x.org/bottle)**: One file
- [tornado](https://x.org/tornado)

# Data

- [pandas](https://x.org/pandas) - Tables
- [pandas](https://x.org/other) - Bears
"""


def test_the_description_after_a_link_is_a_definition(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.md", AWESOME)
    taxonomy = TaxonomyFile.open(path).taxonomy
    assert {c.label: c.definition for c in taxonomy.concepts} == {
        **{"Web": "", "flask": "A micro framework", "django": "Batteries included"},
        **{"bottle": "One file", "tornado": "", "Data": "", "pandas": "Tables"},
        "pandas - Bears": "",
    }
    new = AWESOME.replace("tornado)\n", "tornado)\n- falcon\n")
    assert expanded(path, "Web > falcon") == new


def test_a_definition_follows_a_tab_in_a_text(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.txt", "Food\n  Fruit\tsweet and juicy\n  Bread\n")
    fruit = TaxonomyFile.open(path).taxonomy.concept("Food > Fruit")
    assert (fruit.label, fruit.definition) == ("Fruit", "sweet and juicy")
    path.write_text("Food\n  Rice\twhite\n  Rice\tbrown\n")
    assert "line 3: the path 'Food > Rice' is already on line 2" in refusal(path)


def test_lines_with_more_than_a_label_are_noted(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "x.txt", "Food\n  Poke: a fish dish\n  Kimchi: fermented cabbage\n"
    )
    (note,) = TaxonomyFile.open(path).notes
    assert note.line == 2
    assert "2 lines look like a term and its definition" in note.message
    write_file(path, "Food\n  Poke: a fish dish\n  Bread\n  Rice\n")
    assert not TaxonomyFile.open(path).notes


def test_a_repeated_path_is_refused_and_a_repeated_label_is_not(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.txt", "Food\n  Other\nDrinks\n  Other\n")
    assert paths_in(path) == ["Food", "Food > Other", "Drinks", "Drinks > Other"]
    write_file(path, "Food\n  Other\n  Tea\n  Other\n")
    assert f"{path}, line 4: the path 'Food > Other' is already on line 2" in refusal(path)


def test_an_underlined_heading_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.md", "Food\n====\n\n- Fruit\n")
    with pytest.raises(FormatError) as caught:
        TaxonomyFile.open(path)
    assert (caught.value.path, caught.value.line) == (path, 1)
    assert "underlined" in caught.value.problem
    assert "write '# Food'" in caught.value.fix


@pytest.mark.parametrize("label", ["- rye", "# rye", "a\nb", " rye", "1. rye", "```"])
def test_labels_that_would_be_read_otherwise_are_refused(tmp_path: Path, label: str) -> None:
    path = write_file(tmp_path / "x.txt", INDENTED)
    with pytest.raises(FormatError, match="read back"):
        write_expanded(path, under(concept=Concept(label, label)), tmp_path / "new.txt")
    assert not (tmp_path / "new.txt").exists()


def test_several_parents_and_moves_are_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.txt", INDENTED)
    with pytest.raises(FormatError, match="2 parents"):
        write_expanded(path, under("Food", "Drinks"), tmp_path / "new.txt")
    assert TaxonomyFile.open(path).supported_changes == frozenset()


def test_a_taxonomy_is_converted_to_a_list(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "child,parent\nFruit,Food\nApples,Fruit\n--,Food\n")
    found = convert(path, Target(tmp_path / "x.md"))
    text = (tmp_path / "x.md").read_text()
    assert text == "- Food\n  - Fruit\n    - Apples\n  - \\--\n"
    assert len(found.copy.relations) == 3
    convert(tmp_path / "x.md", Target(tmp_path / "y.csv"))
    assert "Apples" in (tmp_path / "y.csv").read_text()


STRIPPED = ["_a_", "**a**", "`a`", "[a](b)", "[a](b) - c", "[x] a", "---", "a\\_b", "a #", "- a"]


@pytest.mark.parametrize("label", [*STRIPPED, "1. a", "# a", "> a", "```", "a > b"])
def test_what_reading_strips_is_escaped(tmp_path: Path, label: str) -> None:
    for text in ("- Food\n  - Fruit\n- Drinks\n", "# Food\n\n## Fruit\n\n# Drinks\n"):
        path, output = write_file(tmp_path / "x.md", text), tmp_path / "new.md"
        write_expanded(path, under("Food", concept=Concept("new", label)), output, force=True)
        assert f"Food > {label}" in paths_in(output)
    old = Taxonomy([Concept("Food", "Food"), Concept("new", label)], [("Food", "new")])
    for name in ("x.md", "x.txt"):
        copy = FORMATS["outline"].write(old, Target(tmp_path / name))
        write_file(tmp_path / name, copy.files[tmp_path / name])
        assert paths_in(tmp_path / name, "outline") == ["Food", f"Food > {label}"]


def test_ids_stay_distinct_if_a_label_looks_like_a_path(tmp_path: Path) -> None:
    old = Taxonomy([Concept("1", "a"), Concept("2", "b"), Concept("3", "a > b")], [("1", "2")])
    copy = FORMATS["outline"].write(old, Target(tmp_path / "x.md"))
    assert copy.files[tmp_path / "x.md"] == "- a\n  - b\n- a › b\n"


@dataclass(frozen=True)
class OutlineStyle:
    """How the lines of an outline look; the headings are the items on the first levels."""

    unit: str
    bullets: tuple[str, ...]
    headings: int
    newline: str
    gap: str
    suffix: str

    def line(self, depth: int, number: int, label: str) -> str:
        if depth < self.headings:
            return f"{'#' * (depth + 1)} {label}"
        bullet = self.bullets[depth % len(self.bullets)].format(number)
        return f"{self.unit * (depth - self.headings)}{bullet}{label}"


BULLET_SETS = [("- ",), ("* ", "+ "), ("{}. ",), ("{}) ", "- "), ("-   ",)]
STYLES = st.one_of(
    st.builds(
        OutlineStyle,
        st.sampled_from(["  ", "    ", "\t", " "]),
        st.sampled_from([*BULLET_SETS, ("",)]),
        st.just(0),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["", "\n"]),
        st.just(".txt"),
    ),
    st.builds(
        OutlineStyle,
        st.sampled_from(["    ", "\t"]),
        st.sampled_from(BULLET_SETS),
        st.integers(0, 3),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["", "\n", "\n\nSome text.\n"]),
        st.just(".md"),
    ),
)
LABELS = names(without="-#.>*+_~`[<\\&", breaks=False).filter(lambda name: not name[:1].isdigit())


@st.composite
def forests(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Paths of a random forest in the order of an outline, at least one of them below another."""
    paths: list[tuple[str, ...]] = [("root",), ("root", "leaf")]
    for label in draw(st.lists(LABELS, max_size=9)):
        over = draw(st.sampled_from([(), *paths]))
        if (*over, label) not in paths:
            paths.append((*over, label))
    ordered = list[tuple[str, ...]]()

    def visit(over: tuple[str, ...]) -> None:
        for path in paths:
            if path[:-1] == over:
                ordered.append(path)
                visit(path)

    visit(())
    return ordered


@given(forest=forests(), style=STYLES, data=st.data())
@quickly
def test_outlines_of_all_styles_keep_their_lines(
    forest: list[tuple[str, ...]], style: OutlineStyle, data: st.DataObject
) -> None:
    places = {path: [p for p in forest if p[:-1] == path[:-1]].index(path) + 1 for path in forest}
    lines = [style.line(len(path) - 1, places[path], path[-1]) for path in forest]
    text = "".join(f"{line}\n{style.gap}" for line in lines).replace("\n", style.newline)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"x{style.suffix}"
        path.write_bytes(text.encode())
        opened = TaxonomyFile.open(path, "outline")
        assert list(opened.taxonomy.ids) == [" > ".join(parts) for parts in forest]
        added = data.draw(st.lists(st.sampled_from([(), *forest]), max_size=4))
        new = [Concept(f"new:{n}", f"new concept {n}") for n in range(len(added))]
        over = {concept.id: " > ".join(parts) for concept, parts in zip(new, added, strict=True)}
        if len(new) > 1 and data.draw(st.booleans()):
            over["new:1"] = "new:0"
        relations = [(parent, id) for id, parent in over.items() if parent]
        output = path.with_name(f"new{style.suffix}")
        opened.write(Additions(new, relations), output)
        written = output.read_bytes().decode()
        old, rest = text.splitlines(keepends=True), iter(written.splitlines(keepends=True))
        assert all(line in rest for line in old)  # in the same order
        assert len(written.splitlines()) - len(old) >= len(new)
        assert set(written.splitlines()) - set(text.splitlines()) - {""} == {
            line for line in written.splitlines() if "new concept" in line
        }
        reread = TaxonomyFile.open(output, "outline").taxonomy
        labels = {label(reread, id) for id in reread}
        assert labels >= {(over_label(opened.taxonomy, over, c.id), c.label) for c in new}


def label(taxonomy: Taxonomy, id: str) -> tuple[str, str]:
    """Return the labels of the parent and of a concept."""
    parents = taxonomy.parents(id)
    return (taxonomy.concept(parents[0]).label if parents else ""), taxonomy.concept(id).label


def over_label(taxonomy: Taxonomy, over: dict[str, str], id: str) -> str:
    parent = over[id]
    if parent.startswith("new:"):
        return f"new concept {parent.removeprefix('new:')}"
    return taxonomy.concept(parent).label if parent else ""
