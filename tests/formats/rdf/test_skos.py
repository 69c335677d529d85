from __future__ import annotations

import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Target
from taxoexpan.formats.rdf.vocabulary import is_iri
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference
from tests.support.expanded_files import refusal, write_expanded, write_file
from tests.support.rdf_files import concepts_of, graph_of, in_syntax
from tests.support.strategies import Growth, growths, names, quickly

SUFFIXES = (".ttl", ".nt", ".rdf", ".jsonld")
PREFIXES = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://food.org/> .
"""
FOOD = f"""{PREFIXES}
ex:food a skos:ConceptScheme .
ex:fruit a skos:Concept ; skos:prefLabel "fruit"@en , "Obst"@de ; skos:topConceptOf ex:food .
ex:apple a skos:Concept ; skos:inScheme ex:food ; skos:broader ex:fruit ;
    skos:prefLabel "apple"@en , "Apfel"@de ; skos:altLabel "malus"@en ; skos:hiddenLabel "aple"@en ;
    skos:definition "a pome"@en , "ein Kernobst"@de ; skos:exactMatch <http://elsewhere.org/apple> .
"""
FRUIT, APPLE, KIWI = (f"http://food.org/{name}" for name in ("fruit", "apple", "kiwi"))


def turtle(folder: Path, body: str) -> Path:
    return write_file(folder / "food.ttl", PREFIXES + body)


def expand(path: Path, additions: Additions, language: str | None = None) -> Path:
    output = path.with_stem("expanded")
    write_expanded(path, additions, output, force=True, options=ReadOptions(language))
    return output


def added_triples(path: Path, additions: Additions, language: str | None = None) -> rdflib.Graph:
    """Return the new statements of the expanded file, after checking that it has all old ones."""
    old, new = graph_of(path), graph_of(expand(path, additions, language))
    assert all(triple in new for triple in old)
    return new - old


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_syntaxes_are_detected_and_read_alike(tmp_path: Path, suffix: str) -> None:
    path = in_syntax(write_file(tmp_path / "food.ttl", FOOD), suffix)
    document = TaxonomyFile.open(path)
    food = Taxonomy(
        [Concept(FRUIT, "fruit"), Concept(APPLE, "apple", ("malus", "aple"), "a pome")],
        [(FRUIT, APPLE)],
    )
    assert not Difference(food, document.taxonomy)
    assert document.notes == ()
    assert TaxonomyFile.open(path.rename(tmp_path / "food")).taxonomy == document.taxonomy


def test_the_most_frequent_language_is_the_default(tmp_path: Path) -> None:
    path = turtle(
        tmp_path,
        """ex:a skos:prefLabel "Apfel"@de , "apple"@en ; skos:altLabel "Äpfel"@de , "apples"@en ;
             skos:broader ex:b . ex:b skos:prefLabel "Obst"@de .""",
    )
    assert concepts_of(path)["a"] == Concept("http://food.org/a", "Apfel", ("Äpfel",))
    english = concepts_of(path, language="en")
    assert english["a"] == Concept("http://food.org/a", "apple", ("apples",))
    assert english["b"].label == "Obst"
    (note,) = TaxonomyFile.open(path, options=ReadOptions("en")).notes
    assert (note.code, note.place) == ("missing-label", "http://food.org/b")


@pytest.mark.parametrize(
    ("labels", "language", "chosen"),
    [
        ('"a"@en-GB , "b"@fr', "en", "a"),
        ('"a"@en , "b"@en-US', "en-US", "b"),
        ('"a"@en , "b"@fr', "EN-us", "a"),
        ('"a" , "b"@fr , "c"@de', "de", "c"),
        ('"a" , "b"@fr', "de", "a"),
        ('"b"@es , "a"@en', "de", "a"),
        ('"b"@en , "a"@fr', "de", "a"),
    ],
)
def test_the_closest_language_is_used(
    tmp_path: Path, labels: str, language: str, chosen: str
) -> None:
    path = turtle(
        tmp_path,
        f'ex:x a skos:Concept ; skos:prefLabel {labels} . ex:y skos:prefLabel "y"@{language} ,'
        ' "i"@fr , "j"@fr ; skos:broader ex:x .',
    )
    assert concepts_of(path, language=language)["x"].label == chosen


def test_a_language_without_labels_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.ttl", FOOD)
    with pytest.raises(FormatError, match="language 'fr'; choose one of: de, en"):
        TaxonomyFile.open(path, options=ReadOptions("fr"))


def test_broader_and_narrower_are_one_relation(tmp_path: Path) -> None:
    body = "ex:fruit skos:narrower ex:apple , ex:fig . ex:apple skos:broader ex:fruit ."
    document = TaxonomyFile.open(turtle(tmp_path, body))
    assert set(document.taxonomy.relations) == {(FRUIT, APPLE), (FRUIT, "http://food.org/fig")}
    assert {note.code for note in document.notes} == {"undescribed-concept"}


def test_top_concepts_are_concepts_and_collections_and_schemes_are_not(tmp_path: Path) -> None:
    path = turtle(
        tmp_path,
        """ex:s skos:hasTopConcept ex:a . ex:b skos:topConceptOf ex:s .
        ex:list a skos:Collection ; skos:prefLabel "a list" ; skos:inScheme ex:s ;
          skos:member ex:a .""",
    )
    assert set(concepts_of(path)) == {"a", "b"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            """@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
            @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
            ex:a a skos:Concept ; xl:prefLabel ex:l1 ; xl:altLabel [ xl:literalForm "pomme"@en ] ;
              skos:definition [ rdf:value "a pome"@en ] .
            ex:l1 xl:literalForm "apple"@en .""",
            Concept("http://food.org/a", "apple", ("pomme",), "a pome"),
        ),
        (
            'ex:a a skos:Concept ; skos:prefLabel "a" ; skos:scopeNote "only this" .',
            Concept("http://food.org/a", "a", (), "only this"),
        ),
        (
            """ex:a a skos:Concept ; skos:prefLabel "a" ; skos:scopeNote "x" ;
              skos:definition "y" ; <http://www.w3.org/2002/07/owl#deprecated> true .""",
            Concept("http://food.org/a", "a", (), "y", deprecated=True),
        ),
        (
            """ex:a a skos:Concept ; skos:prefLabel "a" ;
              <http://www.w3.org/2002/07/owl#deprecated> false .""",
            Concept("http://food.org/a", "a"),
        ),
    ],
    ids=["skos-xl", "scope-note", "deprecated", "not-deprecated"],
)
def test_the_texts_of_a_concept_are_read(tmp_path: Path, body: str, expected: Concept) -> None:
    assert concepts_of(turtle(tmp_path, body))["a"] == expected


@pytest.mark.parametrize(
    ("body", "code", "label"),
    [
        (
            'ex:a a skos:Concept ; <http://www.w3.org/2000/01/rdf-schema#label> "apple" .',
            "missing-label",
            "apple",
        ),
        ('ex:a a skos:Concept ; skos:prefLabel " " .', "missing-label", "a"),
        ('[] a skos:Concept . ex:a a skos:Concept ; skos:prefLabel "b" .', "blank-node", "b"),
        (
            'ex:a a skos:Concept ; skos:prefLabel "a"@en , "b"@en , "c"@de .',
            "preferred-labels",
            "a",
        ),
    ],
)
def test_odd_concepts_are_noted(tmp_path: Path, body: str, code: str, label: str) -> None:
    path = turtle(tmp_path, body)
    assert [concept.label for concept in concepts_of(path).values()] == [label]
    assert [note.code for note in TaxonomyFile.open(path).notes] == [code]


THES = "<http://purl.org/iso25964/skos-thes#{}>"
NAMED = """
ex:a a skos:Concept ; skos:prefLabel "a" . ex:b a skos:Concept ; skos:prefLabel "b" .
ex:c a skos:Concept ; skos:prefLabel "c" .
"""


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        (
            "ex:b skos:broaderTransitive ex:a . ex:c skos:broaderTransitive ex:a , ex:b .",
            ["skos:broaderTransitive (3)"],
        ),
        ("ex:a skos:narrowerTransitive ex:b , ex:c .", ["skos:narrowerTransitive (2)"]),
        (
            f"ex:b {THES.format('broaderGeneric')} ex:a ; {THES.format('broaderPartitive')} ex:c .",
            ["skos-thes#broaderGeneric (1)", "skos-thes#broaderPartitive (1)"],
        ),
        (f"ex:b skos:broader ex:a . ex:b {THES.format('broaderPartitive')} ex:c .", ["ive (1)"]),
        ("ex:b ex:parent ex:a .", ["ex:parent (1)"]),
    ],
)
def test_relations_that_are_not_read_are_counted_in_one_note(
    tmp_path: Path, body: str, noted: list[str]
) -> None:
    (note,) = TaxonomyFile.open(turtle(tmp_path, NAMED + body)).notes
    assert all(each in note.message for each in noted)
    assert "not read as a relation; write skos:broader" in note.message


@pytest.mark.parametrize(
    "body",
    [
        "ex:c skos:broader ex:b ; skos:broaderTransitive ex:a , ex:b . ex:b skos:broader ex:a .",
        f"ex:b skos:broader ex:a ; {THES.format('broaderGeneric')} ex:a .",
        f"ex:b {THES.format('broaderGeneric')} ex:a . ex:a skos:narrower ex:b .",
        "ex:b skos:related ex:a ; skos:broadMatch ex:c ; ex:parent <http://elsewhere.org/x> .",
        "ex:b ex:supersededBy ex:a ; ex:transparent ex:c .",
    ],
)
def test_relations_that_others_state_are_not_noted(tmp_path: Path, body: str) -> None:
    assert not TaxonomyFile.open(turtle(tmp_path, NAMED + body)).notes


def test_markup_is_removed_from_literals(tmp_path: Path) -> None:
    path = turtle(
        tmp_path,
        """@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
        ex:a a skos:Concept ; skos:definition "a <b>toothed</b> tool &amp; so"^^rdf:HTML .""",
    )
    assert concepts_of(path)["a"].definition == "a toothed tool & so"


def test_names_in_other_languages_are_kept_as_foreign_names(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(write_file(tmp_path / "food.ttl", FOOD)).taxonomy
    assert taxonomy.foreign_names[taxonomy.index(APPLE)] == ("Apfel",)


def test_iris_of_other_resources_are_reserved(tmp_path: Path) -> None:
    path = turtle(
        tmp_path,
        """@prefix dct: <http://purl.org/dc/terms/> .
        ex:c1 a skos:Concept ; skos:exactMatch ex:c2 ; dct:replaces ex:c3 ; skos:inScheme ex:c4 .
        ex:c5 a skos:Collection ; skos:member ex:c1 , <http://elsewhere.org/c6> .""",
    )
    reserved = TaxonomyFile.open(path).taxonomy.reserved
    assert {iri.rpartition("/")[2] for iri in reserved if "food.org" in iri} == {
        *("c2", "c3", "c4", "c5")
    }


def test_a_cycle_has_the_lines_of_its_concepts(tmp_path: Path) -> None:
    message = refusal(turtle(tmp_path, "ex:a skos:broader ex:b .\nex:b skos:broader ex:a ."))
    assert ", line 3: a cycle: http://food.org/a → http://food.org/b" in message
    assert message.endswith("(see the entries on lines 3, 4)")
    other = "ex:c skos:broader ex:d .\nex:d skos:broader ex:c ."
    message = refusal(
        turtle(tmp_path, f"ex:a skos:broader ex:b .\nex:b skos:broader ex:a .\n{other}")
    )
    assert message.endswith("lists all 2 cycles")


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("x.ttl", f"{PREFIXES}ex:a a skos:Concept ;\n skos:prefLabel ", "line 4: not well"),
        ("x.ttl", "<a> <b> <http://example.org/> .", "a relative IRI needs an @base"),
        ("x.ttl", "<a> <b> <c> .", "no skos:Concept, no owl:Class"),
        ("x.ttl", PREFIXES, "no concept"),
        ("x.nt", "<http://a/b> <http://a/c>", "line 1: not well"),
        ("x.rdf", "<rdf:RDF xmlns:rdf='x'>\n<a>\n</rdf:RDF>", "line 3: not well"),
        ("x.rdf", "<?xml version='1.0' encoding='latin-1'?><rdf:RDF/>", "save it as UTF-8"),
        ("x.jsonld", '{"@context": {}, "@graph": [}', "not well"),
    ],
)
def test_errors_name_their_line(tmp_path: Path, name: str, text: str, word: str) -> None:
    assert word in refusal(write_file(tmp_path / name, text))


class TestNothingIsFetched:
    """Files that refer to a server, which must not receive a request."""

    @pytest.fixture
    def requests(self) -> list[str]:
        return []

    @pytest.fixture
    def server(self, requests: list[str]) -> object:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                self.send_response(404)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/x"
        server.shutdown()
        thread.join()
        server.server_close()

    @pytest.mark.parametrize(
        ("name", "text", "word"),
        [
            ("x.jsonld", '{"@context": "URL", "@id": "http://a/b"}', "never fetches"),
            ("x.jsonld", '{"@context": {"@import": "URL"}}', "never fetches"),
            ("x.jsonld", '[{"@context": ["URL"], "@id": "http://a/b"}]', "never fetches"),
            ("x.rdf", '<!DOCTYPE x [<!ENTITY e SYSTEM "URL">]><rdf:RDF/>', "never fetches"),
            ("x.rdf", '<!DOCTYPE x [<!ENTITY % e SYSTEM "URL"> %e;]><rdf:RDF/>', "never fetches"),
            ("x.rdf", '<!DOCTYPE x SYSTEM "URL"><rdf:RDF>&e;</rdf:RDF>', ""),
            ("x.ttl", "@prefix ex: <URL> . ex:a ex:b ex:c .", "no concept"),
        ],
    )
    def test_no_request_is_sent(
        self, tmp_path: Path, server: str, requests: list[str], name: str, text: str, word: str
    ) -> None:
        assert word in refusal(write_file(tmp_path / name, text.replace("URL", server)))
        assert requests == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.rdf", "<rdf:RDF>" + "<a>" * 100_000),
        ("x.jsonld", '{"@context":{},"http://a/b":' * 100_000),
        ("x.jsonld", '{"@context":' + "[" * 100_000),
        ("x.ttl", "<http://a/b> <http://a/c> " + "(" * 100_000),
        ("x.ttl", "<http://a/b> <http://a/c> " + "[ <http://a/c> " * 100_000),
    ],
)
def test_deep_nesting_is_refused_at_once(tmp_path: Path, name: str, text: str) -> None:
    assert refusal(write_file(tmp_path / name, text))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_new_concept_has_the_statements_of_the_other_concepts(
    tmp_path: Path, suffix: str
) -> None:
    path = in_syntax(write_file(tmp_path / "food.ttl", FOOD), suffix)
    kiwi = Concept(KIWI, 'kiwi "gold"', ("actinidia",), "a berry\nfrom China")
    when = datetime(2026, 3, 1, tzinfo=UTC)
    additions = Additions(
        [kiwi],
        [(FRUIT, KIWI)],
        agent="taxoexpan 0.1",
        when=when,
        reasons={(FRUIT, KIWI): "confidence 0.88"},
    )
    added = added_triples(path, additions)
    wanted = rdflib.Graph().parse(
        data=PREFIXES
        + """ex:kiwi a skos:Concept ; skos:inScheme ex:food ; skos:prefLabel 'kiwi "gold"'@en ;
        skos:altLabel "actinidia"@en ; skos:definition "a berry\\nfrom China"@en ;
        skos:broader ex:fruit ; skos:changeNote
        "Placed under 'fruit' (confidence 0.88) by taxoexpan 0.1 on 2026-03-01."@en ."""
    )
    assert isomorphic(added, wanted)


def test_narrower_is_written_if_the_file_uses_it(tmp_path: Path) -> None:
    path = turtle(tmp_path, 'ex:fruit skos:narrower ex:apple ; skos:prefLabel "fruit" .')
    gold = Concept("http://food.org/gold", "gold kiwi")
    relations = [(FRUIT, KIWI), (KIWI, gold.id)]
    added = added_triples(path, Additions([gold, Concept(KIWI, "kiwi")], relations))
    narrower = set(added.subject_objects(rdflib.SKOS.narrower))
    broader = {(child, parent) for child, parent in added.subject_objects(rdflib.SKOS.broader)}
    pairs = {(rdflib.URIRef(parent), rdflib.URIRef(child)) for parent, child in relations}
    assert narrower == pairs
    assert broader == {(child, parent) for parent, child in pairs}


def test_a_new_root_is_a_top_concept_if_the_file_has_top_concepts(tmp_path: Path) -> None:
    path = turtle(tmp_path, "ex:s skos:hasTopConcept ex:a . ex:a skos:topConceptOf ex:s .")
    added = added_triples(path, Additions([Concept(KIWI, "kiwi")], []))
    scheme, kiwi = rdflib.URIRef("http://food.org/s"), rdflib.URIRef(KIWI)
    assert (kiwi, rdflib.SKOS.topConceptOf, scheme) in added
    assert (scheme, rdflib.SKOS.hasTopConcept, kiwi) in added
    assert (kiwi, rdflib.SKOS.inScheme, scheme) in added


def test_a_new_concept_is_in_the_schemes_of_its_parents(tmp_path: Path) -> None:
    path = turtle(
        tmp_path,
        "ex:a skos:inScheme ex:s1 ; a skos:Concept . ex:b skos:inScheme ex:s2 ; a skos:Concept .",
    )
    added = added_triples(path, Additions([Concept(KIWI, "k")], [("http://food.org/a", KIWI)]))
    assert [str(s) for s in added.objects(predicate=rdflib.SKOS.inScheme)] == ["http://food.org/s1"]


def test_new_labels_are_in_the_requested_language(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.ttl", FOOD)
    added = added_triples(path, Additions([Concept(KIWI, "Kiwi")], [(FRUIT, KIWI)]), "de")
    assert (rdflib.URIRef(KIWI), rdflib.SKOS.prefLabel, rdflib.Literal("Kiwi", "de")) in added


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".jsonld", '{"@id": "http://food.org/fruit", "@type": "SKOSConcept"}'),
        (".jsonld", '[{"@id": "http://food.org/fruit",\n"@type": "SKOSConcept"}]'),
        (
            ".jsonld",
            '{"@context": {"skos": "SKOS", "uri": "@id"},\n "@graph": [\n'
            '  {"uri": "http://food.org/fruit", "@type": "skos:Concept"}\n ],\n "x": 1}\n',
        ),
        (
            ".jsonld",
            '{"@context": {"@vocab": "SKOS", "@language": "de"},\n'
            ' "@id": "http://food.org/fruit", "@type": "Concept", "prefLabel": "Obst"}',
        ),
        # A prefix that gets another meaning must not be used.
        (
            ".ttl",
            "@prefix skos: <http://food.org/> . skos:fruit a <SKOSConcept> .\n"
            "@prefix skos: <http://other.org/> .\n",
        ),
    ],
)
def test_files_of_any_structure_are_extended(tmp_path: Path, suffix: str, text: str) -> None:
    path = write_file(tmp_path / f"x{suffix}", text.replace("SKOS", str(rdflib.SKOS)))
    additions = Additions([Concept(KIWI, "kiwi")], [(FRUIT, KIWI)])
    old, new = TaxonomyFile.open(path), TaxonomyFile.open(expand(path, additions))
    assert new.taxonomy == old.taxonomy.expanded(additions)


@pytest.mark.parametrize(
    "root",
    [
        'xmlns:rdf="{rdf}" xmlns:skos="{skos}"',
        'xmlns:rdf="{rdf}" xmlns:s="{skos}" xml:lang="de" xml:base="http://food.org/"',
        'xmlns:rdf="{rdf}" xmlns:skos="http://other.org/" xmlns:s="{skos}"',
    ],
)
@pytest.mark.parametrize(
    "end", ["\n</rdf:RDF>", "</rdf:RDF>\n<!-- </rdf:RDF> -->", "\r\n  </rdf:RDF >"]
)
def test_rdf_xml_with_any_prefixes_is_extended(tmp_path: Path, root: str, end: str) -> None:
    declared = root.format(rdf=rdflib.RDF, skos=rdflib.SKOS)
    name = "s" if "xmlns:s=" in root else "skos"
    text = f'<rdf:RDF {declared}>\n<{name}:Concept rdf:about="{FRUIT}"/>{end}'
    path = write_file(tmp_path / "x.rdf", text)
    additions = Additions([Concept(KIWI, "kiwi & <co>\r\n")], [(FRUIT, KIWI)])
    expanded = expand(path, additions)
    kiwi = TaxonomyFile.open(expanded).taxonomy.concept(KIWI)
    assert kiwi.label == "kiwi & <co>"
    assert len(graph_of(expanded)) == len(graph_of(path)) + 3


@pytest.mark.parametrize(
    ("id", "word"), [("kiwi", "is not an IRI"), ("http://food.org/food", "already used")]
)
def test_an_invalid_or_reserved_id_is_refused(tmp_path: Path, id: str, word: str) -> None:
    path = write_file(tmp_path / "food.ttl", FOOD)
    with pytest.raises(FormatError, match=word):
        expand(path, Additions([Concept(id, "kiwi")], [(FRUIT, id)]))


IRIS = (
    names(without=" \"'|&").map(lambda name: "http://a.org/" + "".join(name.split())).filter(is_iri)
)
WORDS = names(breaks=True)


@given(growths(ids=IRIS, labels=WORDS, details=True), st.sampled_from(SUFFIXES))
@quickly
def test_a_new_file_reads_back(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("copy") / f"x{suffix}"
    copy = FORMATS["skos"].write(growth.old, Target(path, language="en"))
    source = TextFile(path, copy.files[path])
    assert FORMATS["skos"].read(source).taxonomy == unrepeated(growth.old)
    assert len(graph_of(write_file(path, copy.files[path]))) > len(growth.old)


@given(growths(ids=IRIS, labels=WORDS, details=True), st.sampled_from(SUFFIXES))
@quickly
def test_an_expanded_file_has_all_old_statements_and_the_additions(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("expanded") / f"x{suffix}"
    path.write_bytes(FORMATS["skos"].write(growth.old, Target(path)).files[path].encode())
    output = path.with_stem("expanded")
    write_expanded(path, growth.additions, output)
    assert TaxonomyFile.open(output).taxonomy == unrepeated(growth.old.expanded(growth.additions))
    old, new = graph_of(path), graph_of(output)
    assert not old - new
    subjects = {rdflib.URIRef(concept.id) for concept in growth.additions.concepts}
    assert {subject for subject, _, _ in new - old} == subjects


def unrepeated(taxonomy: Taxonomy) -> Taxonomy:
    """Return the taxonomy without repeated synonyms and synonyms that equal the label."""
    return Taxonomy(
        [
            Concept(
                c.id,
                c.label,
                tuple(s for s in dict.fromkeys(c.synonyms) if s != c.label),
                c.definition,
            )
            for c in taxonomy.concepts
        ],
        taxonomy.relations,
    )


def test_new_concepts_get_the_types_of_most_siblings_and_the_origin_of_their_parent(
    tmp_path: Path,
) -> None:
    body = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:drink a skos:Concept , ex:Category ; skos:prefLabel "drink" ; rdfs:isDefinedBy ex:drinks .
ex:fruit a skos:Concept , ex:Category ; skos:broader ex:drink ; rdfs:isDefinedBy ex:fruits .
ex:tea a skos:Concept , ex:Descriptor ; skos:broader ex:drink ; rdfs:isDefinedBy ex:list .
ex:mate a skos:Concept , ex:Descriptor ; skos:broader ex:tea ; rdfs:isDefinedBy ex:list .
"""
    path = turtle(tmp_path, body)
    kiwi, chai = Concept(KIWI, "kiwi"), Concept("http://food.org/chai", "chai")
    relations = (("http://food.org/drink", KIWI), ("http://food.org/tea", chai.id))
    new = added_triples(path, Additions((kiwi, chai), relations))
    descriptor = rdflib.URIRef("http://food.org/Descriptor")
    # The siblings of kiwi have different types, so it gets none of them.
    assert set(new.subjects(rdflib.RDF.type, descriptor)) == {rdflib.URIRef(chai.id)}
    origins = {str(s): str(o) for s, o in new.subject_objects(rdflib.RDFS.isDefinedBy)}
    assert origins == {KIWI: "http://food.org/drinks", chai.id: "http://food.org/list"}


def test_a_first_child_gets_the_types_that_most_concepts_have(tmp_path: Path) -> None:
    body = """
ex:fruit a skos:Concept , ex:Term ; skos:prefLabel "fruit" .
ex:apple a skos:Concept , ex:Term ; skos:prefLabel "apple" ; skos:broader ex:fruit .
"""
    path = turtle(tmp_path, body)
    new = added_triples(path, Additions((Concept(KIWI, "kiwi"),), ((APPLE, KIWI),)))
    types = set(new.objects(rdflib.URIRef(KIWI), rdflib.RDF.type))
    assert types == {rdflib.SKOS.Concept, rdflib.URIRef("http://food.org/Term")}
