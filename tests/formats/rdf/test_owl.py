from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.difference import Difference
from tests.support.expanded_files import refusal, write_expanded, write_file
from tests.support.rdf_files import concepts_of, graph_of, in_syntax
from tests.support.strategies import Growth, growths, names, quickly

SUFFIXES = (".owl", ".ttl", ".nt", ".jsonld")
PREFIXES = """\
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://food.org/> .
"""
OTHER_PREFIXES = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
FOOD = f"""{PREFIXES}{OTHER_PREFIXES}
<http://food.org/> a owl:Ontology ; obo:IAO_0000700 ex:apple .
ex:eats a owl:ObjectProperty ; rdfs:label "eats"@en .
ex:fruit a owl:Class ; rdfs:label "fruit"@en , "Obst"@de ; rdfs:subClassOf owl:Thing .
ex:apple a owl:Class ; rdfs:label "apple"@en ;
    rdfs:subClassOf ex:fruit ,
        [ a owl:Restriction ; owl:onProperty ex:eats ; owl:someValuesFrom ex:worm ] ;
    owl:equivalentClass [ a owl:Class ; owl:unionOf ( ex:fruit ex:worm ) ] ;
    obo:IAO_0000115 "a pome"@en ; rdfs:comment "tasty"@en ;
    oio:hasExactSynonym "malus"@en ; oio:hasBroadSynonym "pome"@en ; skos:altLabel "apples"@en .
ex:old a owl:Class ; rdfs:label "old"@en ; owl:deprecated true .
ex:worm a ex:Animal ; rdfs:label "worm"@en .
"""
FRUIT, APPLE, KIWI = (f"http://food.org/{name}" for name in ("fruit", "apple", "kiwi"))
NEW_KIWI = Additions([Concept(KIWI, "kiwi", ("Actinidia",), "a berry")], [(FRUIT, KIWI)])


def ontology(folder: Path, body: str, prefixes: str = PREFIXES) -> Path:
    return write_file(folder / "food.ttl", prefixes + body)


def notes_of(path: Path) -> list[tuple[str, str]]:
    return [(n.code, n.place) for n in TaxonomyFile.open(path, "owl").notes]


def added_triples(path: Path, additions: Additions) -> rdflib.Graph:
    """Return the new statements about resources, after checking that all old ones are there."""
    output = path.with_stem("expanded")
    write_expanded(path, additions, output, force=True)
    before, after = graph_of(path), graph_of(output)
    new = rdflib.Graph()
    subjects = [*(concept.id for concept in additions.concepts), *additions.names]
    for triple in {t for id in subjects for t in after.triples((rdflib.URIRef(id), None, None))}:
        if triple not in before:
            new.add(triple)
    assert isomorphic(before, after - new)
    return new


def statements(text: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=PREFIXES + OTHER_PREFIXES + text, format="turtle")


# ---- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_syntaxes_are_read_alike(tmp_path: Path, suffix: str) -> None:
    document = TaxonomyFile.open(in_syntax(write_file(tmp_path / "food.ttl", FOOD), suffix))
    expected = Taxonomy(
        [
            Concept(FRUIT, "fruit"),
            Concept(APPLE, "apple", ("malus", "pome", "apples"), "a pome"),
            Concept("http://food.org/old", "old", deprecated=True),
        ],
        [(FRUIT, APPLE)],
    )
    assert document.format.name == "owl"
    assert not Difference(expected, document.taxonomy)
    assert document.notes == ()
    assert document.parsed.tops == {FRUIT, APPLE}


def test_other_content_is_counted(tmp_path: Path) -> None:
    ignored = TaxonomyFile.open(write_file(tmp_path / "food.ttl", FOOD)).parsed.ignored
    assert ignored["rdfs:subClassOf"] == 2
    assert ignored["owl:equivalentClass"] == ignored["rdfs:comment"] == 1


def test_rdfs_classes_and_comments_are_read(tmp_path: Path) -> None:
    path = ontology(
        tmp_path,
        """ex:a a rdfs:Class ; rdfs:label "A" ; rdfs:comment "the first" .
        ex:b a rdfs:Class ; rdfs:label "B" ; rdfs:subClassOf ex:a , rdfs:Class , ex:b .""",
    )
    document = TaxonomyFile.open(path)
    assert concepts_of(path, "owl")["a"] == Concept("http://food.org/a", "A", (), "the first")
    assert list(document.taxonomy.relations) == [("http://food.org/a", "http://food.org/b")]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ('rdfs:label "x" ; skos:prefLabel "y"', ("x", ("y",))),
        ('skos:prefLabel "y"', ("y", ())),
        ('rdfs:label "x" ; skos:altLabel "y"@en', ("x", ("y",))),
        ('rdfs:label "x" ; obo:IAO_0000118 "y"', ("x", ("y",))),
        ("skos:note 1", ("it", ())),
    ],
)
def test_labels_and_synonyms(
    tmp_path: Path, description: str, expected: tuple[str, tuple[str, ...]]
) -> None:
    body = f'ex:it a owl:Class ; {description} . ex:b a owl:Class ; rdfs:label "b" .'
    it = concepts_of(ontology(tmp_path, body, PREFIXES + OTHER_PREFIXES), "owl")["it"]
    assert (it.label, it.synonyms) == expected


def test_the_more_frequent_label_property_is_used(tmp_path: Path) -> None:
    body = """ex:a a owl:Class ; rdfs:label "A1" ; skos:prefLabel "a" .
        ex:b a owl:Class ; skos:prefLabel "b" . ex:eats rdfs:label "x" . ex:is rdfs:label "y" ."""
    path = ontology(tmp_path, body, PREFIXES + OTHER_PREFIXES)
    assert concepts_of(path, "owl")["a"] == Concept("http://food.org/a", "a", ("A1",))


@pytest.mark.parametrize(
    ("properties", "definition"),
    [
        ('skos:definition "b" ; obo:IAO_0000115 "a" ; rdfs:comment "c"', "a"),
        ('skos:definition "b" ; rdfs:comment "c"', "b"),
        ('rdfs:comment "c" ; oio:hasDefinition "b"', "b"),
        ('rdfs:comment "Kommentar"@de , "comment"@en', "comment"),
    ],
)
def test_definitions_in_order_of_preference(
    tmp_path: Path, properties: str, definition: str
) -> None:
    body = f'ex:x a owl:Class ; rdfs:label "x"@en ; {properties} .'
    path = ontology(tmp_path, body, PREFIXES + OTHER_PREFIXES)
    assert concepts_of(path, "owl")["x"].definition == definition


def test_labels_with_and_without_a_tag_are_in_one_language(tmp_path: Path) -> None:
    body = 'ex:a a owl:Class ; rdfs:label "a" . ex:b a owl:Class ; rdfs:label "b" . '
    path = ontology(tmp_path, body + 'ex:c a owl:Class ; rdfs:label "c"@en .')
    assert [c.label for c in concepts_of(path, "owl").values()] == ["a", "b", "c"]
    assert notes_of(path) == []


def test_an_external_superclass_is_a_concept(tmp_path: Path) -> None:
    body = """ex:a a owl:Class ; rdfs:label "a" ; rdfs:subClassOf <http://other.org/Top> , ex:Typo .
        ex:b a owl:Class ."""
    path = ontology(tmp_path, body)
    assert TaxonomyFile.open(path).taxonomy.parents("http://food.org/a") == (
        "http://other.org/Top",
        "http://food.org/Typo",
    )
    assert sorted(notes_of(path)) == [
        ("external-concept", "http://other.org/Top"),
        ("missing-label", "http://food.org/b"),
        ("undescribed-concept", "http://food.org/Typo"),
    ]


def test_a_class_that_is_only_declared_is_not_a_concept_of_another_namespace(
    tmp_path: Path,
) -> None:
    body = """ex:a a owl:Class ; rdfs:label "a" ; owl:equivalentClass <http://other.org/A> .
        <http://other.org/A> a owl:Class . ex:bare a owl:Class ."""
    document = TaxonomyFile.open(ontology(tmp_path, body))
    assert set(document.taxonomy) == {"http://food.org/a", "http://food.org/bare"}
    assert document.parsed.ignored["classes of other vocabularies"] == 1


def test_classes_without_any_label_are_named_by_their_iris(tmp_path: Path) -> None:
    path = ontology(tmp_path, "ex:Apple a owl:Class . <http://other.org/B> a owl:Class .")
    assert [c.label for c in concepts_of(path, "owl").values()] == ["Apple", "B"]
    assert notes_of(path) == []


def test_deprecated_classes(tmp_path: Path) -> None:
    body = """ex:a a owl:DeprecatedClass . ex:b a owl:Class ; owl:deprecated "true" .
        ex:c a owl:Class ; owl:deprecated false . ex:d a owl:Class ; rdfs:label "d" ."""
    path = ontology(tmp_path, body)
    assert {id for id, c in concepts_of(path, "owl").items() if c.deprecated} == {"a", "b"}
    assert [place for _, place in notes_of(path)] == ["http://food.org/c"]


def test_properties_of_the_ontology_are_reserved(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(write_file(tmp_path / "food.ttl", FOOD)).taxonomy
    assert {"http://food.org/eats", "http://food.org/worm"} <= taxonomy.reserved


# ---- the choice between SKOS and OWL ------------------------------------------------------------

BOTH = """ex:A a owl:Class . ex:B a owl:Class {classes} .
    ex:one a skos:Concept ; skos:prefLabel "one" . ex:two a skos:Concept {concepts} ."""


@pytest.mark.parametrize(
    ("classes", "concepts", "format"),
    [
        ("; rdfs:subClassOf ex:A", "", "owl"),
        ("", "; skos:broader ex:one", "skos"),
        ("", "", "skos"),
        ("; rdfs:subClassOf ex:A", "; skos:broader ex:one", "skos"),
        ("; rdfs:subClassOf ex:A , ex:C", "; skos:broader ex:one", "owl"),
    ],
)
def test_the_vocabulary_with_more_relations_is_read(
    tmp_path: Path, classes: str, concepts: str, format: str
) -> None:
    body = BOTH.format(classes=classes, concepts=concepts)
    path = ontology(tmp_path, body, PREFIXES + OTHER_PREFIXES)
    assert format == TaxonomyFile.open(path).format.name
    for name, expected in (("owl", "http://food.org/A"), ("skos", "http://food.org/one")):
        assert expected in TaxonomyFile.open(path, name).taxonomy
    has_note = any(code == "other-vocabulary" for code, *_ in notes_of(path))
    assert has_note == bool(concepts)


def test_a_file_without_classes_is_refused(tmp_path: Path) -> None:
    path = ontology(tmp_path, "ex:Class a ex:Thing .")
    assert "no concept" in refusal(path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Prefix(:=<http://x.org/>)\nOntology(<http://x.org/>\n)\n", "functional syntax"),
        ("Prefix: : <http://x.org/>\nOntology: <http://x.org/>\n", "Manchester syntax"),
        (
            '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#">\n'
            '<Declaration><Class IRI="#a"/></Declaration>\n</Ontology>\n',
            "OWL/XML",
        ),
    ],
)
def test_other_syntaxes_of_owl_are_refused_with_a_remedy(
    tmp_path: Path, text: str, name: str
) -> None:
    message = refusal(write_file(tmp_path / "x.owl", text))
    assert f"this is OWL in {name}, which is not RDF; save it as RDF/XML or Turtle" in message


def test_turtle_in_an_owl_file_is_read_and_extended(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.owl", FOOD)
    output = tmp_path / "y.owl"
    write_expanded(path, NEW_KIWI, output)
    assert output.read_text().startswith(FOOD)
    assert KIWI in TaxonomyFile.open(output).taxonomy


# ---- expanding -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_new_class_has_the_statements_of_the_other_classes(tmp_path: Path, suffix: str) -> None:
    path = in_syntax(write_file(tmp_path / "food.ttl", FOOD), suffix)
    assert set(added_triples(path, NEW_KIWI)) == set(
        statements("""ex:kiwi a owl:Class ; rdfs:label "kiwi"@en ; rdfs:subClassOf ex:fruit ;
        oio:hasExactSynonym "Actinidia"@en ; obo:IAO_0000115 "a berry"@en .""")
    )


STYLES = {
    'a rdfs:Class ; rdfs:label "{}" ; rdfs:comment "x"': """a rdfs:Class ; rdfs:label "kiwi" ;
        rdfs:comment "a berry" ; skos:altLabel "Actinidia" """,
    'a owl:Class , rdfs:Class ; skos:prefLabel "{}"@fr ; skos:definition "x"@fr': """
        a owl:Class , rdfs:Class ; skos:prefLabel "kiwi"@fr ; skos:altLabel "Actinidia"@fr ;
        skos:definition "a berry"@fr""",
    'a owl:Class ; rdfs:label "{}" ; rdfs:comment "x"@en ; rdfs:isDefinedBy <http://food.org/>': """
        a owl:Class ; rdfs:label "kiwi" ; rdfs:comment "a berry" ; skos:altLabel "Actinidia" ;
        rdfs:isDefinedBy <http://food.org/>""",
    'a owl:Class ; rdfs:label "{}"@en ; rdfs:comment "x"@de ; oio:hasRelatedSynonym "y"': """
        a owl:Class ; rdfs:label "kiwi"@en ; rdfs:comment "a berry"@en ;
        oio:hasExactSynonym "Actinidia"@en """,
}


@pytest.mark.parametrize("style", STYLES)
def test_a_new_class_is_described_like_the_others(tmp_path: Path, style: str) -> None:
    body = "".join(f"ex:{name} {style.format(name)} .\n" for name in ("fruit", "apple"))
    path = ontology(tmp_path, body, PREFIXES + OTHER_PREFIXES)
    assert set(added_triples(path, NEW_KIWI)) == set(
        statements(f"ex:kiwi {STYLES[style]} ; rdfs:subClassOf ex:fruit .")
    )


def test_several_types_are_written_in_the_order_of_the_file(tmp_path: Path) -> None:
    kinds = "a ex:Kind , rdfs:Class , ex:Other , owl:Class"
    classes = [f'ex:{n} {kinds} ; rdfs:label "{n}" .' for n in ("fruit", *"abcdefgh")]
    unlabelled = "ex:x a owl:Class , rdfs:Class , ex:Odd , ex:Other , ex:Kind ."
    path = ontology(tmp_path, "\n".join([unlabelled, *classes]))
    write_expanded(path, NEW_KIWI, tmp_path / "new.ttl")
    assert f"ex:kiwi {kinds} ;" in (tmp_path / "new.ttl").read_text()


def test_the_origin_is_inherited_from_the_parent(tmp_path: Path) -> None:
    body = """ex:a a owl:Class ; rdfs:isDefinedBy ex:one .
        ex:b a owl:Class ; rdfs:isDefinedBy ex:two . ex:c a owl:Class ."""
    new = [Concept(f"http://food.org/{name}", name) for name in ("below-b", "below-that", "top")]
    relations = [("http://food.org/b", new[0].id), (new[0].id, new[1].id)]
    path = ontology(tmp_path, body.replace("ex:c a owl:Class .", ""))
    origins = rdflib.RDFS.isDefinedBy
    added = added_triples(path, Additions(new, relations))
    assert {(str(s), str(o)) for s, o in added.subject_objects(origins)} == {
        (new[0].id, "http://food.org/two"),
        (new[1].id, "http://food.org/two"),
    }
    some = ontology(tmp_path, body)
    assert not list(added_triples(some, Additions(new, relations)).subject_objects(origins))


OBO = """obo:SO_0000001 a owl:Class ; rdfs:label "region" ; oio:hasOBONamespace "sequence" ;
    oio:id "SO:0000001" ; oio:created_by "kareneilbeck" .
obo:SO_0000002 a owl:Class ; rdfs:label "gene" ; oio:hasOBONamespace "sequence" ;
    oio:id "SO:0000002" ; rdfs:subClassOf obo:SO_0000001 .
"""


def test_an_obo_class_gets_its_id_its_namespace_and_its_creator(tmp_path: Path) -> None:
    path = ontology(tmp_path, OBO, PREFIXES + OTHER_PREFIXES)
    gene, new = (f"http://purl.obolibrary.org/obo/SO_000000{n}" for n in (2, 3))
    when = datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
    additions = Additions(
        [Concept(new, "silenced gene")],
        [(gene, new)],
        agent="taxoexpan 1",
        when=when,
        reasons={(gene, new): "confidence 0.9"},
    )
    assert set(added_triples(path, additions)) == set(
        statements("""obo:SO_0000003 a owl:Class ; rdfs:label "silenced gene" ;
        rdfs:subClassOf obo:SO_0000002 ; oio:hasOBONamespace "sequence" ; oio:id "SO:0000003" ;
        oio:created_by "taxoexpan 1" ; oio:creation_date "2024-02-03T04:05:06Z" .""")
    )


def test_a_change_note_says_what_placed_a_class(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.ttl", FOOD)
    when = datetime(2024, 2, 3, tzinfo=UTC)
    additions = replace(NEW_KIWI, agent="taxoexpan 1", when=when)
    note = "Placed under 'fruit' (chosen by a person) by taxoexpan 1 on 2024-02-03."
    assert (
        rdflib.URIRef(KIWI),
        rdflib.SKOS.changeNote,
        rdflib.Literal(note, lang="en"),
    ) in added_triples(path, additions)


def test_turtle_is_appended_with_the_prefixes_and_the_indentation_of_the_file(
    tmp_path: Path,
) -> None:
    body = "\n".join(
        f'ex:{name} rdfs:comment "{name}" ;\n  rdfs:label "{name}" ;\n  a owl:Class .\n'
        for name in ("fruit", "apple")
    )
    path = ontology(tmp_path, body)
    write_expanded(path, NEW_KIWI, tmp_path / "new.ttl")
    assert (tmp_path / "new.ttl").read_text() == path.read_text() + (
        "\n@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n\n"
        'ex:kiwi a owl:Class ;\n  rdfs:label "kiwi" ;\n  skos:altLabel "Actinidia" ;\n'
        '  rdfs:comment "a berry" ;\n  rdfs:subClassOf ex:fruit .\n'
    )


# ---- moves ---------------------------------------------------------------------------------------

MOVABLE = f"""{PREFIXES}
ex:fruit a owl:Class ; rdfs:label "fruit" .
ex:apple a owl:Class ; rdfs:label "apple" ;
    rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:p ; owl:hasValue ex:fruit ] , ex:fruit .
"""
POME = Concept("http://food.org/pome", "pome")
MOVE = Additions([POME], [(FRUIT, POME.id)], moves=[Move(APPLE, FRUIT, POME.id)])


def test_a_move_replaces_the_superclass_and_keeps_restrictions(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.ttl", MOVABLE)
    write_expanded(path, MOVE, tmp_path / "new.ttl")
    moved = MOVABLE.replace("] , ex:fruit .", "] , ex:pome .")
    assert (tmp_path / "new.ttl").read_text().startswith(moved)
    assert TaxonomyFile.open(tmp_path / "new.ttl").taxonomy.parents(APPLE) == (POME.id,)


def test_a_relation_with_annotations_is_not_moved(tmp_path: Path) -> None:
    axiom = """[] a owl:Axiom ; owl:annotatedSource ex:apple ; rdfs:comment "why" ;
        owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget ex:fruit ."""
    path = write_file(tmp_path / "food.ttl", MOVABLE + axiom)
    with pytest.raises(FormatError, match=f"an owl:Axiom annotates that '{APPLE}' is a subclass"):
        write_expanded(path, MOVE, tmp_path / "new.ttl")
    other = axiom.replace("ex:fruit", "ex:other")
    write_expanded(write_file(path, MOVABLE + other), MOVE, tmp_path / "new.ttl")


def test_moves_in_rdf_xml_need_turtle(tmp_path: Path) -> None:
    path = in_syntax(write_file(tmp_path / "food.ttl", MOVABLE), ".owl")
    with pytest.raises(FormatError, match=r"first run taxoexpan convert copy\.owl copy\.ttl"):
        write_expanded(path, MOVE, tmp_path / "new.owl")


# ---- converting ----------------------------------------------------------------------------------


def test_a_copy_in_another_syntax_has_all_statements(tmp_path: Path) -> None:
    path = in_syntax(write_file(tmp_path / "food.ttl", FOOD), ".owl")
    for name in ("a.ttl", "a.jsonld", "a.nt", "a.owl"):
        assert convert(path, Target(tmp_path / name)).losses == []
        assert isomorphic(graph_of(tmp_path / name), graph_of(path))


def test_other_formats_become_classes_in_owl_files_and_skos_on_request(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "child,parent\nfood,\nfruit,food\n")
    convert(path, Target(tmp_path / "x.owl"))
    assert TaxonomyFile.open(tmp_path / "x.owl").format.name == "owl"
    convert(tmp_path / "x.owl", Target(tmp_path / "x.ttl"), to="skos")
    copy = TaxonomyFile.open(tmp_path / "x.ttl")
    assert copy.format.name == "skos"
    assert not Difference(TaxonomyFile.open(tmp_path / "x.owl").taxonomy, copy.taxonomy)


# rdflib cannot read a full stop at the end of a name in Turtle, which the standard allows.
IRIS = st.text("abcé水/-", max_size=5).map(lambda text: f"http://food.org/{text}")


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(growth=growths(IRIS, names(breaks=True), details=True))
@quickly
def test_an_expanded_file_has_all_old_statements_and_the_additions(
    suffix: str, growth: Growth
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"food{suffix}"
        text = FORMATS["owl"].write(growth.old, Target(path, language="en")).files[path]
        source = TextFile.load(write_file(path, text))
        expanded = growth.old.expanded(growth.additions)
        (insertions,) = FORMATS["owl"].extend(source, expanded, growth.additions).values()
        output = path.with_stem("expanded")
        output.write_bytes(source.apply(insertions))
        before, after = graph_of(path), graph_of(output)
        assert all(triple in after for triple in before)
        new = {concept.id for concept in growth.additions.concepts}
        assert {str(subject) for subject, *_ in after - before} == new
        relations = {(str(o), str(s)) for s, o in after.subject_objects(rdflib.RDFS.subClassOf)}
        assert relations == set(expanded.relations)
        found = FORMATS["owl"].read(TextFile.load(output)).taxonomy
        assert {c.id: (c.label, c.definition) for c in found.concepts} == {
            c.id: (c.label, c.definition) for c in expanded.concepts
        }
