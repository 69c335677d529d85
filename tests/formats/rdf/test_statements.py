from __future__ import annotations

from pathlib import Path

import pytest
import rdflib
from expanded_files import under, write_expanded, write_file

from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.rdf.statements import TURTLE, respell_tags
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept, Taxonomy

COLOURS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .

<http://x.org/1> a skos:Concept ;
    skos:prefLabel "colour"@en-GB .

<http://x.org/2> a skos:Concept ;
    skos:prefLabel "grey"@en-GB ;
    skos:broader <http://x.org/1> .
"""
NEW = Concept(
    "http://x.org/3", 'the tag "@en-gb', ("<a xml:lang='en-gb'>",), '"@language": "en-gb"'
)
LANGUAGE_MAP = """{
  "@context": {
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "label": {"@id": "skos:prefLabel", "@container": "@language"}
  },
  "@graph": [
    {"@id": "http://x.org/1", "@type": "skos:Concept", "label": {"en-GB": "colour"}}
  ]
}
"""


@pytest.mark.parametrize("suffix", [".ttl", ".nt", ".rdf", ".jsonld"])
def test_new_texts_have_the_tags_of_the_file(tmp_path: Path, suffix: str) -> None:
    path, output = tmp_path / f"x{suffix}", tmp_path / f"new{suffix}"
    convert(write_file(tmp_path / "x.ttl", COLOURS), Target(path), force=True)
    assert "en-GB" in path.read_text("utf-8")
    assert "en-gb" not in path.read_text("utf-8")
    assert TaxonomyFile.open(path).parsed.language == "en-GB"
    write_expanded(path, under("http://x.org/1", concept=NEW), output)
    text, texts = output.read_text("utf-8"), (NEW.label, *NEW.synonyms, NEW.definition)
    graph = rdflib.Graph().parse(output)
    assert {str(value) for value in graph.objects(rdflib.URIRef(NEW.id))} >= set(texts)
    assert text.count("en-GB") == path.read_text("utf-8").count("en-GB") + 3
    assert text.count("en-gb") == 3


def test_the_keys_of_a_language_map_show_the_case_of_tags(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "x.jsonld", LANGUAGE_MAP), tmp_path / "new.jsonld"
    write_expanded(path, under("http://x.org/1", concept=Concept("http://x.org/2", "grey")), output)
    assert '{"@language": "en-GB", "@value": "grey"}' in output.read_text("utf-8")


@pytest.mark.parametrize("quote", ['"', '"""'])
def test_a_text_that_is_too_long_for_the_parser_is_named_by_its_line(
    tmp_path: Path, quote: str
) -> None:
    statement = f"<http://e.org/a> <http://e.org/b> {quote}{'é' * 8_500_000}{quote} .\n"
    path = write_file(tmp_path / "x.ttl", f"{COLOURS}\n{statement}")
    with pytest.raises(FormatError, match="a text has more than 16,777,216 bytes") as caught:
        Taxonomy.read(path)
    assert (caught.value.path, caught.value.line) == (path, 10)


def test_tags_that_the_file_spells_in_lower_case_stay() -> None:
    assert respell_tags('"a"@en, "b"@de-at', {"de-at": "de-AT"}, TURTLE) == '"a"@en, "b"@de-AT'
