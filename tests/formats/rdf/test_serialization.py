"""New statements follow the style of the existing ones."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.rdf import jsonld
from taxoexpan.formats.rdf.vocabulary import is_iri
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept
from tests.support.expanded_files import refusal, write_expanded, write_file
from tests.support.strategies import names, quickly

SKOS, RDF = str(rdflib.SKOS), str(rdflib.RDF)
FRUIT, APPLE, KIWI, FIG = (f"http://e.org/{name}" for name in ("fruit", "apple", "kiwi", "fig"))
ONE_KIWI = Additions([Concept(KIWI, "kiwi", ("Actinidia é",))], [(FRUIT, KIWI)])


def expanded_text(path: Path, additions: Additions = ONE_KIWI) -> str:
    output = path.with_stem("expanded")
    write_expanded(path, additions, output, force=True)
    assert TaxonomyFile.open(output).taxonomy == TaxonomyFile.open(path).taxonomy.expanded(
        additions
    )
    return output.read_bytes().decode()


def added(path: Path, additions: Additions = ONE_KIWI) -> str:
    """Return the inserted text, which must be in one piece."""
    old, new = path.read_bytes().decode(), expanded_text(path, additions)
    start = next((i for i, pair in enumerate(zip(old, new, strict=False)) if len(set(pair)) > 1), 0)
    start = start or len(old)
    end = len(new) - (len(old) - start)
    assert new[:start] + new[end:] == old
    return new[start:end]


SKOSMOS = """\
{
    "@context": {
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "uri": "@id",
        "type": "@type",
        "lang": "@language",
        "value": "@value",
        "graph": "@graph",
        "prefLabel": "skos:prefLabel",
        "broader": "skos:broader"
    },
    "graph": [
        {
            "uri": "http://e.org/fruit",
            "type": "skos:Concept",
            "prefLabel": {"lang": "en", "value": "fruit"}
        }
    ]
}
"""
MAPS = """\
{"@context": [null, {"@version": 1.1, "skos": "http://www.w3.org/2004/02/skos/core#",
\t"e": "http://e.org/", "id": "@id",
\t"kind": {"@id": "@type", "@container": "@set"}, "Concept": "skos:Concept"}, {
\t"label": {"@id": "skos:prefLabel", "@container": "@language"},
\t"also": {"@id": "skos:altLabel", "@container": ["@language", "@set"]},
\t"narrower": {"@id": "skos:narrower", "@type": "@id", "@container": "@set"},
\t"under": {"@id": "skos:broader", "@type": "@id"}}],
"@graph": [
\t{ "id": "e:fruit", "kind": ["Concept"],
\t\t"label": {"en": "fruit", "de": "Obst \u00e9"},
\t\t"narrower": ["e:apple"] },
\t{ "id": "e:apple", "label": {"en": "apple"} }]}
"""
ONE_LINE = (
    '{"@context":{"@vocab":"http://www.w3.org/2004/02/skos/core#","@language":"en"},"@graph":'
    '[{"@id":"http://e.org/fruit","@type":"Concept","prefLabel":"fruit"},'
    '{"@id":"http://e.org/apple","@type":"Concept","prefLabel":"apple"}]}'
)
EXPANDED = f"""\
[
  {{
    "@id": "{FRUIT}",
    "@type": [
      "{SKOS}Concept"
    ],
    "{SKOS}prefLabel": [
      {{
        "@language": "en",
        "@value": "fruit"
      }}
    ]
  }}
]
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            SKOSMOS,
            """,
        {
            "uri": "http://e.org/kiwi",
            "type": "skos:Concept",
            "prefLabel": {"lang": "en", "value": "kiwi"},
            "skos:altLabel": {"lang": "en", "value": "Actinidia \\u00e9"},
            "broader": {"uri": "http://e.org/fruit"}
        }""",
        ),
        (
            MAPS,
            """,
\t{"id": "e:kiwi", "kind": "Concept", "skos:prefLabel": {"@language": "en", "@value": "kiwi"}, \
"skos:altLabel": {"@language": "en", "@value": "Actinidia é"}, "under": {"id": "e:fruit"}},
\t{"id": "e:fruit", "narrower": {"id": "e:kiwi"}}""",
        ),
        (
            ONE_LINE,
            ',{"@id":"http://e.org/kiwi","@type":"Concept","prefLabel":"kiwi",'
            '"altLabel":"Actinidia \\u00e9","broader":{"@id":"http://e.org/fruit"}}',
        ),
        (
            EXPANDED,
            f""",
  {{
    "@id": "{KIWI}",
    "@type": [
      "{SKOS}Concept"
    ],
    "{SKOS}prefLabel": [
      {{
        "@language": "en",
        "@value": "kiwi"
      }}
    ],
    "{SKOS}altLabel": [
      {{
        "@language": "en",
        "@value": "Actinidia \\u00e9"
      }}
    ],
    "{SKOS}broader": [
      {{
        "@id": "{FRUIT}"
      }}
    ]
  }}""",
        ),
    ],
    ids=["aliases", "maps", "one-line", "expanded"],
)
def test_json_ld_follows_the_terms_and_the_layout_of_the_file(
    tmp_path: Path, text: str, wanted: str
) -> None:
    assert added(write_file(tmp_path / "x.jsonld", text)) == wanted
    windows = write_file(tmp_path / "x.jsonld", text.replace("\n", "\r\n"))
    assert added(windows) == wanted.replace("\n", "\r\n")


def test_a_graph_of_one_node_becomes_a_list_under_the_same_context(tmp_path: Path) -> None:
    text = '{"@context": {"s": "%s"}, "@graph": {"@id": "%s", "@type": "s:Concept"}}'
    path = write_file(tmp_path / "x.jsonld", text % (SKOS, FRUIT))
    expanded = json.loads(expanded_text(path, Additions([Concept(KIWI, "kiwi")], [])))
    kiwi = {"@id": KIWI, "@type": "s:Concept", "s:prefLabel": "kiwi"}
    assert expanded["@graph"] == [{"@id": FRUIT, "@type": "s:Concept"}, kiwi]


def test_new_statements_about_an_existing_concept_are_one_object(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.jsonld", MAPS)
    fig = Concept(FIG, "fig")
    additions = Additions(
        [*ONE_KIWI.concepts, fig], [(FRUIT, KIWI), (APPLE, KIWI), (FRUIT, FIG), (APPLE, FIG)]
    )
    nodes = json.loads(expanded_text(path, additions))["@graph"]
    assert nodes[-2:] == [
        {"id": "e:fruit", "narrower": [{"id": "e:kiwi"}, {"id": "e:fig"}]},
        {"id": "e:apple", "narrower": [{"id": "e:kiwi"}, {"id": "e:fig"}]},
    ]


@pytest.mark.parametrize(
    "context",
    [
        f'{{"s": "{SKOS}", "@direction": "rtl"}}',
        f'{{"s": "{SKOS}", "{SKOS}broader": {{"@reverse": "{SKOS}narrower"}}}}',
        f'{{"s": "{SKOS}", "{SKOS}altLabel": {{"@container": "@language"}}}}',
        f'{{"s": "{SKOS}", "s:broader": {{"@id": "{SKOS}broader", "@container": "@list"}}}}',
        f'{{"s": "{SKOS}", "Concept": {{"@id": "s:Concept", "@context": {{"@vocab": "x:y"}}}}}}',
        f'{{"s": "{SKOS}", "http": "urn:x", "alt": {{"@id": "s:altLabel", "@type": "@json"}}}}',
        f'{{"s": {{"@id": "{SKOS}", "@prefix": true}}, "x": null, "@vocab": "{SKOS}"}}',
        f'{{"s": "{SKOS}", "a": "b:c", "b": "c:d", "c": "urn:x", "e": {{"@id": null}}}}',
        f'{{"s": "{SKOS}", "@base": "http://e.org/", "@language": "de"}}',
        f'{{"s": "{SKOS}", "i": {{"@id": "s:altLabel", "@container": "@index"}}}}',
    ],
)
def test_an_unusual_context_does_not_change_the_meaning(tmp_path: Path, context: str) -> None:
    node = f'{{"@id": "{FRUIT}", "@type": "s:Concept"}}'
    path = write_file(tmp_path / "x.jsonld", f'{{"@context": {context}, "@graph": [{node}]}}')
    assert '"@type": ' in added(path)
    assert_expanded_like_n_triples(path, ONE_KIWI)


XML = f"""\
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="{RDF}" xmlns:s="{SKOS}">
\t<s:Concept rdf:about="{FRUIT}">
\t\t<s:prefLabel xml:lang="en">fruit</s:prefLabel>
\t\t<s:narrower rdf:resource="{APPLE}"/>
\t</s:Concept>
</rdf:RDF>
"""
DEFAULT_XML = f"""\
<r:RDF xmlns:r="{RDF}" xmlns="{SKOS}" xml:lang="de">
   <Concept r:about="{FRUIT}">
      <prefLabel>Obst</prefLabel>
   </Concept></r:RDF>
"""
BARE_XML = f"""\
<RDF xmlns="{RDF}"><Description xmlns:r="{RDF}" r:about="{FRUIT}"><type r:resource="{SKOS}Concept"/>
</Description></RDF>"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            XML,
            f"""\
\t<s:Concept rdf:about="{KIWI}" xmlns:owl="http://www.w3.org/2002/07/owl#">
\t\t<s:prefLabel xml:lang="en">kiwi</s:prefLabel>
\t\t<owl:deprecated rdf:datatype="{rdflib.XSD.boolean}">true</owl:deprecated>
\t\t<s:broader rdf:resource="{FRUIT}"/>
\t</s:Concept>
\t<s:Concept rdf:about="{FIG}">
\t\t<s:prefLabel xml:lang="en">fig</s:prefLabel>
\t\t<s:broader rdf:resource="{FRUIT}"/>
\t</s:Concept>
\t<rdf:Description rdf:about="{FRUIT}">
\t\t<s:narrower rdf:resource="{KIWI}"/>
\t\t<s:narrower rdf:resource="{FIG}"/>
\t</rdf:Description>
""",
        ),
        (
            DEFAULT_XML,
            f"""
   <Concept rdf:about="{KIWI}" xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdf="{RDF}">
      <prefLabel xml:lang="de">kiwi</prefLabel>
      <owl:deprecated rdf:datatype="{rdflib.XSD.boolean}">true</owl:deprecated>
      <broader rdf:resource="{FRUIT}"/>
   </Concept>
   <Concept rdf:about="{FIG}" xmlns:rdf="{RDF}">
      <prefLabel xml:lang="de">fig</prefLabel>
      <broader rdf:resource="{FRUIT}"/>
   </Concept>
""",
        ),
    ],
    ids=["tabs", "default-namespace"],
)
def test_rdf_xml_follows_the_prefixes_and_the_indentation_of_the_file(
    tmp_path: Path, text: str, wanted: str
) -> None:
    new = [Concept(KIWI, "kiwi", deprecated=True), Concept(FIG, "fig")]
    additions = Additions(new, [(FRUIT, KIWI), (FRUIT, FIG)])
    path = write_file(tmp_path / "x.rdf", text.replace("\n", "\r\n"))
    assert added(path, additions) == wanted.replace("\n", "\r\n")
    assert added(write_file(path, text), additions) == wanted
    assert_expanded_like_n_triples(path, additions)


def test_a_character_that_xml_cannot_contain_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.rdf", XML)
    with pytest.raises(FormatError, match="character that XML"):
        expanded_text(path, Additions([Concept(KIWI, "ki\x01wi")], [(FRUIT, KIWI)]))


def entities(doctype: str, text: str) -> str:
    root = XML.replace('<?xml version="1.0"?>', f"<!DOCTYPE rdf:RDF [{doctype}]>")
    return root.replace(">fruit<", f">{text}<")


def test_an_entity_may_contain_earlier_entities(tmp_path: Path) -> None:
    doctype = '<!ENTITY w "http://e.org/"><!ENTITY v "&w;a&amp;b/"><!ENTITY x "&v;c">'
    path = write_file(tmp_path / "x.rdf", entities(doctype, "&x;"))
    assert TaxonomyFile.open(path).taxonomy.concept(FRUIT).label == "http://e.org/a&b/c"
    assert_expanded_like_n_triples(path, ONE_KIWI)


LAUGHS = '<!ENTITY l0 "ha">' + "".join(
    f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("doctype", "place"),
    [
        (LAUGHS, "line 1: the entity l3 "),
        (f"<!-- {LAUGHS} -->", "line 1: the entity l3 "),
        (LAUGHS.replace("&l", "&#38;l"), "line 1: the entity l3 "),
        ('<!ENTITY l9 "&b;">\n<!ENTITY b "x">', "line 1: the entity l9 "),
        ('<!ENTITY l9 "x">\n<!ENTITY l9 "y">', "line 2: the entity l9 "),
        (f'<!ENTITY l9 "{"x" * 1001}">', "line 1: the entity l9 "),
        (f'<!ENTITY b "{"x" * 100}"><!ENTITY l9 "{"&b;" * 9}">', "line 1: the entity l9 "),
    ],
)
def test_unsafe_entities_are_refused(tmp_path: Path, doctype: str, place: str) -> None:
    path = write_file(tmp_path / "x.rdf", entities(doctype, "&l9;" * 1000))
    assert place in refusal(path)


HEAD = f"@prefix s: <{SKOS}> .\n@prefix : <http://e.org/> .\n"
STANZAS = f"""{HEAD}
:fruit a s:Concept ;
  s:prefLabel "fruit"@en ;
  s:narrower :apple .

:apple a s:Concept ;
  s:prefLabel "apple"@en ;
  s:definition \"\"\"a

pome\"\"\"@en .
"""


@pytest.mark.parametrize(
    ("text", "indent"),
    [
        (STANZAS, "  "),
        (STANZAS.replace("\n  ", "\n\t"), "\t"),
        (HEAD + ":fruit a s:Concept ; s:prefLabel 'fruit'@en ; s:narrower :apple .\n", "    "),
    ],
    ids=["spaces", "tabs", "one-line"],
)
def test_turtle_follows_the_indentation_of_the_file(tmp_path: Path, text: str, indent: str) -> None:
    path = write_file(tmp_path / "x.ttl", text)
    new = [Concept(KIWI, "kiwi"), Concept(FIG, "fig")]
    additions = Additions(new, [(FRUIT, KIWI), (FRUIT, FIG)])
    stanzas = [
        f'\n:{name} a s:Concept ;\n{indent}s:prefLabel "{name}"@en ;\n{indent}s:broader :fruit .\n'
        for name in ("kiwi", "fig")
    ]
    wanted = "".join(stanzas) + "\n:fruit s:narrower :kiwi , :fig .\n"
    assert added(path, additions) == wanted
    windows = write_file(path, text.replace("\n", "\r\n"))
    assert added(windows, additions) == wanted.replace("\n", "\r\n")


def test_a_final_blank_line_is_not_repeated(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.ttl", STANZAS + "\n")
    assert added(path, Additions([Concept(KIWI, "kiwi")], [])).startswith(":kiwi a")


def test_n_triples_have_no_blank_lines(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "x.nt", f"<{FRUIT}> a <{SKOS}Concept> .\n".replace(" a ", f" <{RDF}type> ")
    )
    assert all(line.endswith(" .") for line in expanded_text(path).splitlines())


def test_a_json_ld_copy_is_indented_and_uses_prefixes(tmp_path: Path) -> None:
    text = f"""@prefix s: <{SKOS}> . @prefix e: <http://e.org/> . @prefix urn: <http://u.org/> .
        e:fruit a s:Concept ; s:prefLabel "Obst"@de ; s:notation 1 , true ; s:note "x" .
        <http://other.org/x> s:broader e:fruit . <http://e.org///y> s:broader <urn:x> ."""
    path = write_file(tmp_path / "x.ttl", text)
    convert(path, Target(tmp_path / "y.jsonld"))
    copy = (tmp_path / "y.jsonld").read_text(encoding="utf-8")
    assert copy == json.dumps(json.loads(copy), indent=2, ensure_ascii=False) + "\n"
    assert json.loads(copy) == {
        "@context": {"e": "http://e.org/", "owl": str(rdflib.OWL), "rdf": RDF, "s": SKOS},
        "@graph": [
            {
                "@id": "e:fruit",
                "@type": "s:Concept",
                "s:prefLabel": {"@language": "de", "@value": "Obst"},
                "s:notation": [{"@type": str(rdflib.XSD.integer), "@value": "1"}, True],
                "s:note": "x",
            },
            {"@id": "http://other.org/x", "s:broader": {"@id": "e:fruit"}},
            {"@id": "http://e.org///y", "s:broader": {"@id": "urn:x"}},
        ],
    }


def test_statements_about_statements_cannot_be_copied_to_json_ld(tmp_path: Path) -> None:
    said = f"<{FRUIT}> a <{SKOS}Concept> ; <{SKOS}note> <<( <x:a> <x:b> <x:c> )>> ."
    path = write_file(tmp_path / "x.ttl", said)
    with pytest.raises(FormatError, match=r"convert to \.ttl, \.nt or \.rdf instead"):
        convert(path, Target(tmp_path / "y.jsonld"))


def test_a_missing_skos_prefix_is_declared(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.ttl", f"@prefix : <{SKOS}> . <{FRUIT}> a :Concept .")
    convert(path, Target(tmp_path / "y.jsonld"))
    assert '"@type": "skos:Concept"' in (tmp_path / "y.jsonld").read_text(encoding="utf-8")


def test_a_turtle_copy_has_blank_lines_and_indentation(tmp_path: Path) -> None:
    convert(write_file(tmp_path / "x.ttl", STANZAS), Target(tmp_path / "x.nt"))
    convert(tmp_path / "x.nt", Target(tmp_path / "y.ttl"))
    copy = (tmp_path / "y.ttl").read_text(encoding="utf-8")
    assert "\n\n<http://e.org/apple> a skos:Concept ;\n    skos:prefLabel" in copy


def test_a_carriage_return_survives_in_rdf_xml(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "x.ttl", f'<{FRUIT}> <{SKOS}prefLabel> "a\\r\\nb" ; a <{SKOS}Concept> .'
    )
    convert(path, Target(tmp_path / "y.rdf"))
    assert isomorphic(rdflib.Graph().parse(path), rdflib.Graph().parse(tmp_path / "y.rdf"))


PARTS = st.sampled_from(["a", "b:c", "//d", "", "é", "x/y", "a#b"])
IRIS = st.builds(
    "{}{}".format, st.sampled_from(["http://e.org/", "urn:", "e:", "http://e.org/x#", SKOS]), PARTS
).filter(is_iri)
RESOURCES = IRIS.map(ox.NamedNode) | st.sampled_from("abc").map(ox.BlankNode)
WORDS = names(breaks=True)
LITERALS = (
    st.builds(ox.Literal, WORDS)
    | st.builds(
        lambda text, tag: ox.Literal(text, language=tag), WORDS, st.sampled_from(["en", "de-AT"])
    )
    | st.builds(
        lambda text, kind: ox.Literal(text, datatype=ox.NamedNode(f"http://k.org/{kind}")),
        WORDS,
        PARTS,
    )
    | st.sampled_from(["true", "1"]).map(
        lambda text: ox.Literal(text, datatype=ox.NamedNode(str(rdflib.XSD.boolean)))
    )
)
LINKS = st.sampled_from(["type", "first", "rest"]).map(RDF.__add__) | IRIS
TRIPLES = st.builds(ox.Triple, RESOURCES, LINKS.map(ox.NamedNode), RESOURCES | LITERALS)
PREFIXES = st.dictionaries(
    st.sampled_from(["", "e", "urn", "http", "skos", "x", "a.b"]),
    st.sampled_from(
        ["http://e.org/", "http://e.org/x#", "urn:", "e:", "http://k.org/", SKOS, "http://e.org/x"]
    ),
)


@given(st.lists(TRIPLES, min_size=1, max_size=12), PREFIXES)
@quickly
def test_random_statements_mean_the_same_in_json_ld(
    triples: list[ox.Triple], prefixes: dict[str, str]
) -> None:
    plain = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    copy = jsonld.write_document(triples, prefixes)
    again = {quad.triple for quad in ox.parse(copy, format=ox.RdfFormat.JSON_LD)}
    wanted = rdflib.Graph().parse(data=plain, format="nt")
    assert isomorphic(wanted, rdflib.Graph().parse(data=copy, format="json-ld"))
    shown = ox.serialize(again, format=ox.RdfFormat.N_TRIPLES)
    assert isomorphic(wanted, rdflib.Graph().parse(data=shown, format="nt"))


STYLES = {
    "skosmos.jsonld": SKOSMOS,
    "maps.jsonld": MAPS,
    "line.jsonld": ONE_LINE,
    "expanded.jsonld": EXPANDED,
    "tabs.rdf": XML,
    "default.rdf": DEFAULT_XML,
    "bare.rdf": BARE_XML,
    "stanzas.ttl": STANZAS,
}
NEW = st.lists(
    st.builds(
        Concept,
        names(without=" \"'|&")
        # rdflib reads neither the spaces of Unicode in an IRI, nor a full stop at the end of a name
        # in Turtle. The standards allow both.
        .map(lambda name: "http://e.org/new/" + "".join(name.split()).rstrip("."))
        .filter(is_iri),
        WORDS,
        st.lists(st.sampled_from(["x", "é水", "<&>"]), max_size=2, unique=True).map(tuple),
        st.just("") | WORDS,
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda concept: concept.id,
)


@given(st.sampled_from(sorted(STYLES)), NEW, st.data())
@quickly
def test_expanding_works_in_every_style(
    tmp_path_factory: pytest.TempPathFactory, name: str, new: list[Concept], data: st.DataObject
) -> None:
    path = write_file(tmp_path_factory.mktemp("style") / name, STYLES[name])
    above = [FRUIT, *(concept.id for concept in new)]
    relations = [
        (above[parent], concept.id)
        for place, concept in enumerate(new, 1)
        for parent in data.draw(st.sets(st.integers(0, place - 1), max_size=2))
    ]
    assert_expanded_like_n_triples(path, Additions(new, relations))


def assert_expanded_like_n_triples(path: Path, additions: Additions) -> None:
    """Check that expanding the same statements as N-Triples gives the same graph."""
    plain = path.with_suffix(".nt")
    plain.write_text(rdflib.Graph().parse(path).serialize(format="nt"), encoding="utf-8")
    graphs = []
    for file in (path, plain):
        output = file.with_stem("expanded")
        write_expanded(file, additions, output, force=True)
        graphs.append(rdflib.Graph().parse(output))
    assert isomorphic(*graphs)
