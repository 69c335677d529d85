from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taxoexpan import read_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError, TaxoExpanError, TaxonomyError
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS, find_format
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept
from tests.support.expanded_files import KIWI, refusal, under, write_expanded, write_file
from tests.support.strategies import Growth, growths, names, quickly

EDGES = "child,parent\napple,fruit\n"


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("x.terms", "a\tb\n", "terms"),
        ("x.taxo", "a\tb\n", "terms"),
        ("x.txt", EDGES, "edges"),
        ("x.csv", "child,parent,path\na,b,b > a\n", "paths"),
        ("x.csv", "id,label,parents\n1,a,\n", "rows"),
        ("x.tsv", "name\tbroader\na\t\n", "rows"),
        ("x.csv", "A\nA > B\nA > C\n", "paths"),
        ("x", "1 - A > B\n", "paths"),
        ("x.txt", "# food\n\n<en:a\nen:b, c\nde: d\nwikidata:en: Q1\n", "openfoodfacts"),
        ("x.csv", "path\nen: A > B\nen: A\n", "paths"),
        ("x.csv", "path\nA\n", "paths"),
        ("x.csv", "child,parent\nA > B,A\nA > C,A\n", "edges"),
        ("x.csv", "id,label,parents\nA > B,B,A > C\nA > C,C,\n", "rows"),
    ],
)
def test_a_format_is_detected_by_content(name: str, text: str, format: str) -> None:
    assert find_format(TextFile(Path(name), text)) is FORMATS[format]


def test_a_given_format_overrides_the_detected_one(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "label,child,parent\nred,apple,fruit\nfruit,x,\n")
    assert set(TaxonomyFile.open(path).taxonomy) == {"apple", "fruit", "x"}
    assert set(TaxonomyFile.open(path, "rows").taxonomy) == {"red", "fruit"}


def test_an_unknown_format_name_lists_the_known_ones(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    with pytest.raises(ConfigurationError, match="no format 'xml'; choose one of terms, wordnet"):
        TaxonomyFile.open(path, "xml")


@pytest.mark.parametrize("text", ["just some words\n", '"\n', ",,\n"])
@pytest.mark.parametrize("name", ["food.txt", "food"])
def test_an_unrecognized_file_lists_the_formats(tmp_path: Path, text: str, name: str) -> None:
    path = write_file(tmp_path / name, text)
    message = refusal(path)
    assert message.startswith(f"{path}: the format is not recognized; ")
    lines = message.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(FORMATS)
    assert max(map(len, lines)) <= 100


def test_an_unrecognized_table_lists_its_columns(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "Code,Tier,Name\n1,2,fruit\n")
    message = refusal(path)
    assert message.startswith(f"{path}, line 1: the columns do not say how the concepts are")
    assert "\n   1  Code  id\n   2  Tier\n   3  Name  label\n" in message
    assert "level1, level2" in message


@pytest.mark.parametrize("name", ["food.opml", "food.mm"])
def test_a_mind_map_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    path = write_file(tmp_path / name, '<opml><body><outline text="a"/></body></opml>\n')
    assert refusal(path).startswith(f"{path}: ")
    assert "Markdown" in refusal(path)


def test_an_output_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    output = write_file(tmp_path / "new.csv", "mine")
    with pytest.raises(FormatError, match=r"new\.csv: already exists") as caught:
        write_expanded(path, under("fruit"), output)
    assert caught.value.option == "force"
    assert output.read_text() == "mine"
    for place in (output, path):
        write_expanded(path, under("fruit"), place, force=True)
        assert place.read_text() == EDGES + "kiwi,fruit\n"


@pytest.mark.parametrize("name", ["food.v2", "new.txt", "new", "new.CSV"])
def test_the_output_has_exactly_the_given_name(tmp_path: Path, name: str) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    write_expanded(path, under("fruit"), tmp_path / name, force=True)
    assert {file.name for file in tmp_path.iterdir()} == {"food.csv", name}
    assert path.read_text() == EDGES
    assert len(TaxonomyFile.open(tmp_path / name).taxonomy) == 3


@pytest.mark.parametrize("suffix", [".tsv", ".terms", ".taxo"])
def test_an_output_with_the_suffix_of_another_format_is_refused(
    tmp_path: Path, suffix: str
) -> None:
    path, output = write_file(tmp_path / "food.csv", EDGES), tmp_path / f"new{suffix}"
    with pytest.raises(FormatError, match=f"a {suffix} file would be read in another format"):
        write_expanded(path, under("fruit"), output)
    assert not output.exists()


@pytest.mark.parametrize(
    "additions",
    [
        under("ghost"),
        under(concept=Concept("apple", "pear")),
        Additions([KIWI], [("apple", "kiwi"), ("kiwi", "fruit")]),
    ],
)
def test_invalid_additions_write_nothing(tmp_path: Path, additions: Additions) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    with pytest.raises(TaxonomyError):
        write_expanded(path, additions, tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", EDGES)
    with pytest.raises(FormatError, match="does not exist; create it first"):
        write_expanded(path, under("fruit"), tmp_path / "nowhere" / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [EDGES, EDGES[:-1], "\ufeff" + EDGES])
def test_adding_nothing_copies_the_file(tmp_path: Path, text: str) -> None:
    path = write_file(tmp_path / "food.csv", text)
    assert write_expanded(path, Additions([], []), tmp_path / "new.csv").lost == []
    assert (tmp_path / "new.csv").read_bytes() == path.read_bytes()


def test_a_format_can_be_given_for_writing(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "label,child,parent\nred,x,\n")
    write_expanded(path, under("red"), tmp_path / "new.csv", "rows")
    assert (tmp_path / "new.csv").read_text().endswith("kiwi,,red\n")


CELL_WITH_A_STANZA = 'id,label,parents\n1,"fruit\n[Term]\nid: x",\n2,apple,1\n'


@pytest.mark.parametrize("name", ["food.csv", "food.tsv", "food.txt", "food"])
def test_a_cell_cannot_make_a_table_another_format(tmp_path: Path, name: str) -> None:
    delimiter = "\t" if name.endswith("tsv") else ","
    path = write_file(tmp_path / name, CELL_WITH_A_STANZA.replace(",", delimiter))
    assert len(TaxonomyFile.open(path).taxonomy) == 2


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("x.csv", '{"id",label,parents\n1,a,\n', "rows"),
        ("x.csv", "<rdf:RDF> id,child,parent\n1,a,b\n", "edges"),
        ("x.csv", "title,category\nA > B,C > D\n", None),
        ("x.csv", "@prefix : <a> .,child,parent\n1,a,b\n", "edges"),
        ("x.ttl", 'PREFIX a: <b>\na:b a:c """\n[Term]\nid: x\n""" .\n', "skos"),
        ("x.obo", "{", "obo"),
        ("x.txt", "! comment\n\n[Term]\nid: x\n", "obo"),
        ("x", "ontology: x\n\n[Term]\nid: x\n", "obo"),
        ("x.txt", "http://a > b\n[Term]\n", "paths"),
        ("x.md", "- child,parent\n", "outline"),
        ("x.txt", "child,parent\n- a,b\n  - c,d\n", "edges"),
        ("x.yaml", "food:\n  - fruit\n", None),
    ],
)
def test_the_name_of_the_file_counts(name: str, text: str, format: str | None) -> None:
    file = TextFile(Path(name), text)
    if format is None:
        with pytest.raises(FormatError):
            find_format(file)
    else:
        assert find_format(file) is FORMATS[format]


TEXTS = names(breaks=True) | st.sampled_from(
    [
        *("[Term]", "\n[Term]\n", "format-version: 1.2", "child,parent", "path", "id\tpath"),
        *(
            "# category paths",
            "#",
            "{",
            '[{"a": 1}]',
            '{"@id": "x"}',
            "<rdf:RDF >",
            "<a> <b> <c> .",
        ),
        *("@prefix : <a> .", "prefix a: <b>", "A > B", "1 - A", "x : y", "level 1,level 2", "!"),
        *(
            "en: name",
            "< en:parent",
            "\n< en:parent\nen: name\n",
            "stopwords:en: a, b",
            "owl:Class",
        ),
    ]
)
RECOGNIZED = {
    "rows": ("x.csv", "x.tsv", "x.txt", "x", "x.xlsx", "x.csv.gz"),
    "edges": ("x.csv", "x.tsv", "x.txt", "x", "x.xlsx"),
    "paths": ("x.csv", "x.tsv", "x.txt", "x", "x.xlsx"),
    "json": ("x.json", "x.txt", "x"),
    "obographs": ("x.json", "x.txt", "x"),
    "obo": ("x.obo", "x.txt", "x"),
    "skos": ("x.ttl", "x.nt", "x.rdf", "x.jsonld"),
    "owl": ("x.owl",),
    "openfoodfacts": ("x.txt",),
    "outline": ("x.md", "x.markdown.gz"),
    "terms": ("x.terms",),
}


@pytest.mark.parametrize("format", RECOGNIZED)
@given(growth=growths(TEXTS, TEXTS))
@quickly
def test_a_written_file_is_recognized_whatever_its_texts_are(format: str, growth: Growth) -> None:
    assume(format != "paths" or growth.old.relations)  # labels may be refused without relations
    with TemporaryDirectory() as folder:
        for name in RECOGNIZED[format]:
            copy = FORMATS[format].write(growth.old, Target(Path(folder) / name))
            for path, content in copy.contents().items():
                path.write_bytes(content)
            file = TextFile.open(Path(folder) / name)
            assert format == find_format(file).name, name
            assert len(FORMATS[format].read(file).taxonomy) == len(growth.old)


@pytest.mark.parametrize("format", ["rows", "edges", "paths"])
@given(growth=growths(TEXTS, TEXTS, most_parents=1))
@quickly
def test_an_expanded_file_is_recognized_whatever_its_texts_are(format: str, growth: Growth) -> None:
    with TemporaryDirectory() as folder:
        for name in ("x.csv", "x.txt"):
            path, output = Path(folder) / name, Path(folder) / f"new{Path(name).suffix}"
            try:
                copy = FORMATS[format].write(growth.old, Target(path))
                path.write_bytes(copy.contents()[path])
                ids = {old: copy.id_of(old) for old in growth.old}
                new = [c for c in growth.additions.concepts if c.id not in ids.values()]
                relations = [(ids[growth.old.ids[0]], concept.id) for concept in new]
                write_expanded(path, Additions(new, relations), output, force=True)
            except TaxoExpanError:
                continue  # the format cannot hold these texts
            assert format == find_format(TextFile.open(output)).name


def test_a_table_of_suggestions_is_no_taxonomy(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.csv"
    path.write_text("query,query_id,rank,parent_id\nkiwi,k,1,\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"suggestions\.csv, line 1: this is a table of sugges"):
        read_taxonomy(path)
