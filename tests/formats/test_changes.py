"""Moves and synonyms of existing concepts in every format."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Format, Target
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import write_expanded, write_file
from tests.support.strategies import (
    Growth,
    growths,
    insertions,
    names,
    quickly,
    with_safe_moves,
)

MILK = Concept("milk", "milk")
MOVED = Additions([MILK], [("drink", "milk")], moves=[Move("oat milk", "drink", "milk")])
NAMED = Additions([], [], synonyms=[("tea", "cuppa")])


def changed(folder: Path, name: str, text: str, additions: Additions) -> str:
    """Return the text of the expanded file."""
    path = write_file(folder / name, text)
    output = folder / f"new{path.suffix}"
    write_expanded(path, additions, output, force=True)
    return output.read_bytes().decode("utf-8")


def named_by_id(growth: Growth) -> Growth:
    """Return the growth with labels that give the ids of Open Food Facts."""
    old, new = (
        [replace(concept, label=concept.id.removeprefix("en:").upper()) for concept in concepts]
        for concepts in (growth.old.concepts, growth.additions.concepts)
    )
    return Growth(Taxonomy(old, growth.old.relations), replace(growth.additions, concepts=new))


# ---- random taxonomies ----------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A format, a file name, and random taxonomies with additions that the format supports."""

    format: Format
    name: str
    growths: st.SearchStrategy[Growth]
    synonyms: bool = True
    most_parents: int = 3


IRIS = st.text("abcé水-.", min_size=1, max_size=5).map(lambda text: f"http://food.org/{text}")
WORDS = names(without="|")
TAGS = st.text("abcdxyz水", min_size=1, max_size=4)
CASES = [
    Case(
        FORMATS["openfoodfacts"],
        "food.txt",
        growths(TAGS.map("en:{}".format)).map(named_by_id),
    ),
    Case(FORMATS["terms"], "food.terms", growths(names(), names()), synonyms=False),
    Case(FORMATS["edges"], "food.csv", growths(), synonyms=False),
    Case(FORMATS["edges"], "food.tsv", growths(), synonyms=False),
    Case(FORMATS["rows"], "food.csv", growths(WORDS, names(), details=True)),
    Case(FORMATS["rows"], "food.tsv", growths(WORDS, details=True)),
    Case(FORMATS["obo"], "food.obo", growths(names(), names(), details=True)),
    Case(FORMATS["json"], "food.json", growths(names(breaks=True), names(), details=True)),
    Case(FORMATS["json"], "food.jsonl", growths(names(breaks=True), names(), details=True)),
    Case(FORMATS["obographs"], "food.json", growths(IRIS, names(), details=True)),
    Case(FORMATS["skos"], "food.ttl", growths(IRIS, names())),
    Case(FORMATS["skos"], "food.nt", growths(IRIS, names())),
    Case(FORMATS["owl"], "food.ttl", growths(IRIS, names())),
    Case(FORMATS["owl"], "food.nt", growths(IRIS, names())),
    Case(
        FORMATS["paths"],
        "food.tsv",
        # Without a relation there is no `>`, and a sign in labels could be the separator.
        growths(names(without=">"), most_parents=1).filter(lambda growth: growth.old.relations),
        False,
        most_parents=1,
    ),
]
LISTS = {"json": 1, "obographs": 2}
"""How many lists grow; their last line gets a comma."""
of_every_format = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.format.name}-{case.name}"
)


@of_every_format
@given(data=st.data())
@quickly
def test_moves_and_synonyms_are_read_back_and_nothing_else_changes(
    case: Case, data: st.DataObject
) -> None:
    growth = data.draw(insertions(case.growths, case.most_parents))
    renamed_ids = data.draw(st.lists(st.sampled_from(growth.old.ids), unique=True, max_size=2))
    additions = replace(
        growth.additions,
        synonyms=tuple((id, f"other {k}") for k, id in enumerate(renamed_ids))
        if case.synonyms
        else (),
    )
    additions = with_safe_moves(growth.old, additions)
    with TemporaryDirectory() as folder:
        path, output = Path(folder) / case.name, Path(folder) / f"new{Path(case.name).suffix}"
        for file, text in case.format.write(growth.old, Target(path)).files.items():
            file.write_bytes(text.encode("utf-8"))
        write_expanded(path, additions, output, case.format.name)
        found = TaxonomyFile.open(output, case.format.name).taxonomy
        before, after = (
            Counter(line for file in files for line in lines_of(file))
            for files in ([path.with_suffix(s) for s in suffixes(case)], parts(output, case))
        )
    expected = growth.old.expanded(additions)
    assert as_sets(found) == as_sets(expected)
    touched = {move.child for move in additions.moves} | set(renamed_ids)
    # Paths of descendants become longer.
    below = {id for top in touched for id in growth.old.descendants(top)}
    max_changed = len(additions.moves) + len(renamed_ids)
    if case.format is FORMATS["paths"]:
        max_changed = len(touched | below)
    assert sum((before - after).values()) <= max_changed + LISTS.get(case.format.name, 0)


def as_sets(taxonomy: Taxonomy) -> tuple[object, ...]:
    concepts = {(c.id, c.label, frozenset({*c.synonyms} - {c.label})) for c in taxonomy.concepts}
    return concepts, set(taxonomy.relations)


def suffixes(case: Case) -> list[str]:
    return [".terms", ".taxo"] if case.format is FORMATS["terms"] else [Path(case.name).suffix]


def parts(output: Path, case: Case) -> list[Path]:
    return [output.with_suffix(suffix) for suffix in suffixes(case)]


def lines_of(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").split("\n")


@given(insertions(growths(IRIS)))
@quickly
def test_moves_remove_only_the_links_to_the_old_parents(growth: Growth) -> None:
    additions = with_safe_moves(growth.old, growth.additions)
    text = FORMATS["skos"].write(growth.old, Target(Path("x.ttl"))).files[Path("x.ttl")]
    source = TextFile(Path("x.ttl"), text)
    (insertions,) = (
        FORMATS["skos"].extend(source, growth.old.expanded(additions), additions).values()
    )
    before, after = (
        {(q.subject.value, q.predicate.value, str(q.object)) for q in ox.parse(t, format=TURTLE)}
        for t in (text, source.apply(insertions).decode())
    )
    assert before - after == {
        (s.child, vocabulary.BROADER, f"<{s.old_parent}>") for s in additions.moves
    }


TURTLE = ox.RdfFormat.TURTLE

# ---- examples --------------------------------------------------------------------------------

SKOS = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://x.org/> .\n"
NARROWER = f"""{SKOS}
:drink a skos:Concept ; skos:prefLabel "drink"@en ;
    skos:narrower :tea , :oat , :goat ; # all
    skos:related :oat .
:tea a skos:Concept ; skos:prefLabel "tea"@en ; skos:broader :drink .
:oat a skos:Concept ; skos:prefLabel "oat milk"@en ; skos:broader :drink .
:goat a skos:Concept ; skos:prefLabel "goat milk"@en .
"""


def test_in_turtle_both_directions_of_a_link_are_replaced(tmp_path: Path) -> None:
    milk = Concept("http://x.org/milk", "milk")
    drink, oat, goat = (f"http://x.org/{name}" for name in ("drink", "oat", "goat"))
    moves = [Move(child, drink, milk.id) for child in (oat, goat)]
    additions = Additions([milk], [(drink, milk.id)], moves=moves)
    text = changed(tmp_path, "x.ttl", NARROWER, additions)
    kept = NARROWER.replace(":tea , :oat , :goat ;", ":tea , :milk ;")
    kept = kept.replace('"oat milk"@en ; skos:broader :drink', '"oat milk"@en ; skos:broader :milk')
    assert text.startswith(kept)
    assert text.removeprefix(kept) == (
        '\n:milk a skos:Concept ;\n    skos:prefLabel "milk"@en ;\n'
        "    skos:broader :drink ;\n    skos:narrower :oat , :goat .\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "x.taxo",
            "drink\ttea\n drink \toat milk\n",
            "drink\ttea\n milk \toat milk\ndrink\tmilk\n",
        ),
        (
            "x.csv",
            "note,child,parent\r\nkeep,tea,drink\r\n,oat milk, drink\r\n",
            "note,child,parent\r\nkeep,tea,drink\r\n,oat milk,milk\r\n,milk,drink\r\n",
        ),
        (
            "x.csv",
            '"child";"parent"\n"tea";"drink"\n"oat milk";"drink"',
            '"child";"parent"\n"tea";"drink"\n"oat milk";"milk"\n"milk";"drink"\n',
        ),
        (
            "x.csv",
            "label,parents\ndrink,\ntea,drink\nvegan,\noat milk,vegan | drink\n",
            "label,parents\ndrink,\ntea,drink\nvegan,\noat milk,vegan | milk\nmilk,drink\n",
        ),
        (
            "x.obo",
            "[Term]\nid: drink\n\n[Term]\nid: oat\\ milk\nis_a: drink ! a drink\nis_a: x\n",
            "[Term]\nid: drink\n\n[Term]\nid: oat\\ milk\nis_a: milk ! milk\nis_a: x\n\n[Term]\n"
            "id: milk\nname: milk\nis_a: drink ! drink\n",
        ),
        (
            "x.obo",
            '[Term]\nid: drink\n[Term]\nid: oat\\ milk\n  is_a:  drink {source="x"}  \n',
            "[Term]\nid: drink\n[Term]\nid: oat\\ milk\n  is_a:  milk  \n\n[Term]\n"
            "id: milk\nname: milk\nis_a: drink ! drink\n",
        ),
        (
            "x.json",
            '[{"id": "drink"}, {"id": "oat milk", "parents": ["x", "drink" ]}, {"id": "x"}]',
            '[{"id": "drink"}, {"id": "oat milk", "parents": ["x", "milk" ]}, {"id": "x"}, '
            '{"id": "milk", "parents": ["drink"], "label": "milk"}]',
        ),
        (
            "x.json",
            '[{"id": "drink"}, {"parent": "drink", "id": "oat milk"}]',
            '[{"id": "drink"}, {"parent": "milk", "id": "oat milk"}, '
            '{"parent": "drink", "id": "milk", "label": "milk"}]',
        ),
        (
            "x.json",
            '{"nodes": [{"id": "drink"}, {"id": "oat milk"}],\n "edges": [["drink", "oat milk"]]}',
            '{"nodes": [{"id": "drink"}, {"id": "oat milk"}, {"id": "milk", "label": "milk"}],\n'
            ' "edges": [["milk", "oat milk"], ["drink", "milk"]]}',
        ),
    ],
)
def test_a_move_changes_one_value(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    if name == "x.taxo":
        write_file(tmp_path / "x.terms", "drink\tdrink\ntea\ttea\noat milk\toat milk\n")
        changed(tmp_path, name, text, MOVED)
        assert (tmp_path / "new.taxo").read_text() == wanted
        assert (tmp_path / "new.terms").read_text().endswith("oat milk\toat milk\nmilk\tmilk\n")
    else:
        assert changed(tmp_path, name, text, MOVED) == wanted


PATHS = "1 : Drink\n2 : Drink > Oat milk\n3 : Drink >Oat milk > Barista\n4 : Drink > Tea\n"


def test_a_move_lengthens_the_paths_below(tmp_path: Path) -> None:
    additions = Additions([Concept("5", "Milk")], [("1", "5")], moves=[Move("2", "1", "5")])
    assert changed(tmp_path, "x.txt", PATHS, additions) == (
        "1 : Drink\n2 : Drink > Milk > Oat milk\n3 : Drink >Milk > Oat milk > Barista\n"
        "4 : Drink > Tea\n5 : Drink > Milk\n"
    )
    table = 'id,path\n1,Drink\n2,"Drink > Oat milk"\n3,"Drink > Oat milk > Barista, ""B"""\n'
    assert changed(tmp_path, "x.csv", table, additions) == (
        'id,path\n1,Drink\n2,"Drink > Milk > Oat milk"\n'
        '3,"Drink > Milk > Oat milk > Barista, ""B"""\n5,Drink > Milk\n'
    )


def test_two_moves_may_lengthen_one_path(tmp_path: Path) -> None:
    new = [Concept("5", "Milk"), Concept("6", "Café")]
    moves = [Move("2", "1", "5"), Move("3", "2", "6")]
    additions = Additions(new, [("1", "5"), ("2", "6")], moves=moves)
    assert changed(tmp_path, "x.txt", PATHS, additions) == (
        "1 : Drink\n2 : Drink > Milk > Oat milk\n3 : Drink >Milk > Oat milk > Café > Barista\n"
        "4 : Drink > Tea\n5 : Drink > Milk\n6 : Drink > Milk > Oat milk > Café\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "x.csv",
            "label,parents,synonyms\ndrink,,\ntea,drink,\n",
            "label,parents,synonyms\ndrink,,\ntea,drink,cuppa\n",
        ),
        (
            "x.csv",
            'label,parents,synonyms\ntea,,"a, b|c"\n',
            'label,parents,synonyms\ntea,,"a, b|c|cuppa"\n',
        ),
        (
            "x.obo",
            "[Term]\nid: tea\nname: tea\ncomment: x\nxref: y\n\n[Typedef]\nid: z\n",
            '[Term]\nid: tea\nname: tea\ncomment: x\nsynonym: "cuppa" EXACT []\nxref: y\n\n'
            "[Typedef]\nid: z\n",
        ),
        (
            "x.obo",
            '[Term]\r\nid: tea\r\nsynonym: "chai" RELATED []',
            '[Term]\r\nid: tea\r\nsynonym: "chai" RELATED []\r\nsynonym: "cuppa" EXACT []\r\n',
        ),
        (
            "x.obo",
            "[Term]\nid: green\nis_a: tea ! Tea\n",
            "[Term]\nid: green\nis_a: tea ! Tea\n\n[Term]\nid: tea\nname: Tea\n"
            'synonym: "cuppa" EXACT []\n',
        ),
        (
            "x.json",
            '{"label": "drink", "children": [{"id": "tea", "label": "t"}]}',
            '{"label": "drink", "children": [{"id": "tea", "label": "t", "synonyms": ["cuppa"]}]}',
        ),
        (
            "x.json",
            '[{"id": "tea", "aliases": "chai", "parents": []}]',
            '[{"id": "tea", "aliases": ["chai", "cuppa"], "parents": []}]',
        ),
        (
            "x.json",
            '[{"id": "tea", "synonyms": null}, {"id": "x", "synonyms": []}]',
            '[{"id": "tea", "synonyms": ["cuppa"]}, {"id": "x", "synonyms": []}]',
        ),
        (
            "x.json",
            '[\n {\n  "id": "tea",\n  "synonyms": [\n   "chai"\n  ]\n }\n]\n',
            '[\n {\n  "id": "tea",\n  "synonyms": [\n   "chai",\n   "cuppa"\n  ]\n }\n]\n',
        ),
    ],
)
def test_a_synonym_is_added_to_the_existing_ones(
    tmp_path: Path, name: str, text: str, wanted: str
) -> None:
    assert changed(tmp_path, name, text, NAMED) == wanted


@pytest.mark.parametrize("format", [FORMATS["skos"], FORMATS["owl"]], ids=["skos", "owl"])
@pytest.mark.parametrize("suffix", [".ttl", ".rdf", ".jsonld", ".nt"])
def test_a_synonym_is_added_in_every_rdf_syntax(
    tmp_path: Path, suffix: str, format: Format
) -> None:
    tea = Concept("http://x.org/tea", "tea", ("chai",))
    path = tmp_path / f"x{suffix}"
    text = format.write(Taxonomy([tea]), Target(path, language="en")).files[path]
    additions = Additions([], [], synonyms=[(tea.id, "cuppa")])
    expanded = write_file(tmp_path / f"y{suffix}", changed(tmp_path, path.name, text, additions))
    assert TaxonomyFile.open(expanded).taxonomy == Taxonomy(
        [replace(tea, synonyms=("chai", "cuppa"))]
    )
    if suffix == ".ttl":
        assert expanded.read_text() == f'{text}\n<{tea.id}> skos:altLabel "cuppa"@en .\n'


# ---- refused changes ------------------------------------------------------------------------

NESTED = '{"label": "a", "children": [{"label": "b"}]}'
BOTH = {"moves": "allow_moves", "synonyms": "allow_merges"}
"""The options that allow the changes."""


@pytest.mark.parametrize(
    ("name", "text", "change", "remedy"),
    [
        ("x.csv", "child,parent\nb,a\n", "synonyms", "first run taxoexpan convert x.csv x.json"),
        ("x.csv", "id,label,parents\nb,a,\n", "synonyms", "first run taxoexpan convert x.csv"),
        ("x.txt", "A\nA > B\n", "moves", "first run taxoexpan convert x.txt x.json"),
        ("x.txt", "1 - A\n3 - A > B > C\n", "moves", "first run taxoexpan convert"),
        ("x.json", NESTED, "moves", "first run taxoexpan convert x.json x.tsv"),
        ("x.json", '[{"id": "a", "children": ["b"]}, {"id": "b"}]', "moves", "first run"),
    ],
)
def test_an_unsupported_change_is_refused_with_a_remedy(
    tmp_path: Path, name: str, text: str, change: str, remedy: str
) -> None:
    path = write_file(tmp_path / name, text)
    with pytest.raises(FormatError) as caught:
        TaxonomyFile.open(path).check_changes([change])
    start = f"{path}: {change} of existing concepts are not possible in this file"
    assert str(caught.value).startswith(start)
    assert remedy in str(caught.value)
    assert caught.value.option == BOTH[change]


@pytest.mark.parametrize("suffix", [".rdf", ".jsonld"])
def test_moves_in_rdf_xml_and_json_ld_need_turtle(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write_file(path, FORMATS["skos"].write(Taxonomy([MILK]), Target(path)).files[path])
    with pytest.raises(FormatError, match=f"first run taxoexpan convert x{suffix} x.ttl"):
        TaxonomyFile.open(path).check_changes(BOTH)
    TaxonomyFile.open(path).check_changes(["synonyms"])


@of_every_format
def test_supported_changes_of_every_format(case: Case, tmp_path: Path) -> None:
    taxonomy = Taxonomy([Concept("http://x.org/a", "a", ("b",))])
    for path, text in case.format.write(taxonomy, Target(tmp_path / case.name)).files.items():
        write_file(path, text)
    allowed = FORMATS[case.format.name].supported_changes(TextFile.load(tmp_path / case.name))
    assert allowed == ({"moves", "synonyms"} if case.synonyms else {"moves"})


@pytest.mark.parametrize("text", [NESTED, '[{"id": "a", "children": ["b"]}, {"id": "b"}]'])
def test_unsupported_moves_are_refused_on_writing_too(tmp_path: Path, text: str) -> None:
    path, new = write_file(tmp_path / "x.json", text), Concept("q", "q")
    (below,) = set(TaxonomyFile.open(path).taxonomy) - {"a"}
    additions = Additions([new], [("a", "q")], moves=[Move(below, "a", "q")])
    with pytest.raises(FormatError, match="moves of existing concepts are not possible"):
        write_expanded(path, additions, tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == [path]


def test_a_change_that_would_not_read_back_is_refused_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    text = "label,parents,synonyms\ntea,,\n"
    path = write_file(tmp_path / "x.csv", text)
    additions = Additions([], [], synonyms=[("tea", "a|b")])
    with pytest.raises(FormatError, match="would not be read back as intended"):
        write_expanded(path, additions, tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


def test_a_move_to_an_id_with_the_separator_is_refused(tmp_path: Path) -> None:
    text = "label,parents\ndrink,\nx,\noat milk,x|drink\n"
    path = write_file(tmp_path / "x.csv", text)
    new = Concept("m|k", "m|k")
    additions = Additions([new], [("drink", "m|k")], moves=[Move("oat milk", "drink", "m|k")])
    with pytest.raises(FormatError, match=r"contains '\|', which separates parents"):
        write_expanded(path, additions, tmp_path / "new.csv")


def test_replaced_text_must_exist() -> None:
    source = TextFile(Path("x"), "abcdef")
    assert source.apply([Insertion(2, "XY", "cd"), Insertion(2, "-")]) == b"ab-XYef"
    for wrong in ([Insertion(2, "X", "x")], [Insertion(2, "", "cd"), Insertion(3, "", "d")]):
        with pytest.raises(FormatError, match="occurs twice here"):
            source.apply(wrong)
