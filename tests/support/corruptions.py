"""Valid files of every format, and random corruptions of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.tiny_wordnet import write_wordnet

TOKENS = [
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n", b"\t", b'"', b"'", b"\\"),
    *(b"{", b"}", b"[", b"]", b"<", b">", b"|", b",", b";", b":", b"#", b"@", b"!", b"&a;", b"_:"),
    *(b" > ", b"null", b"true", b"NaN", b"-1", b"1e999", b"9" * 400, b"\\u0000", b"\\ud800"),
    *("é水\u2028\u0085\u200f".encode(), "\U0010ffff".encode(), b"A" * 5000, b"[" * 300, b"(" * 300),
    *(b"<!ENTITY a 'b'>", b"<!DOCTYPE x [", b"]]>", b"<!--", b"-->", b"<![CDATA[", b"<a>" * 300),
    *(b'"@context"', b'"@id"', b'"@graph":', b"@prefix ", b"@base <x> .", b'"""', b"^^", b"@en-"),
    *(b"[Term]\n", b"[Typedef]\n", b"is_a: ", b"id: ", b"is_obsolete: true\n", b"def: ", b"{x="),
    *(b"< en: ", b"en: ", b"xx:", b"stopwords:en:", b"description:en: ", b"\\,", b"(iv)"),
    *(b"child,parent\n", b"id,label,parents\n", b"path\n", b'{"children": [', b'"parents":'),
    *(b"00000000 03 n ", b" @ 00000000 n 0000", b" | ", b"zzz n 1 1 @ 1 0 00000000\n"),
]

FOOD = Taxonomy(
    [
        Concept("food", "food"),
        Concept("fruit", "fruit", ("fruits", "Obst"), "a part of a plant"),
        Concept("apple", "apple", (), "a pome; round"),
        Concept("old", "old apple", ("rotten apple",), "", True),
        Concept("pear", "pear tree é水"),
    ],
    [("food", "fruit"), ("fruit", "apple"), ("food", "apple"), ("fruit", "pear"), ("fruit", "old")],
)
NAMES = {
    "terms": ("x.terms",),
    "skos": ("x.ttl", "x.rdf", "x.jsonld", "x.nt"),
    "owl": ("x.owl", "x.ttl", "x.jsonld", "x.nt"),
    "obo": ("x.obo",),
    "json": ("x.json", "x.jsonl"),
    "obographs": ("x.json",),
    "openfoodfacts": ("x.txt",),
    "paths": ("x.txt", "x.csv"),
    "outline": ("x.md",),
    "edges": ("x.csv",),
    "rows": ("x.csv", "x.tsv"),
}
HAND_WRITTEN = {
    "nested.json": b'{"name": "food", "children": [{"name": "fruit", "children": [{"name": "a"}]}]}'
    b"\n",
    "graph.json": b'{"nodes": [{"id": 1, "label": "a"}, {"id": 2, "label": "b"}],'
    b' "links": [{"source": 1, "target": 2}]}',
    "objects.json": b'{"v": 1, "parts": [{"name": "p", "categories": [{"id": "a", "name": "A", '
    b'"parents": [], "children": [{"id": "b", "name": "B"}]}, {"id": "b", "name": "B", '
    b'"children": null, "parents": [{"id": "a", "name": "A"}]}]}]}',
    "rich.obo": b'format-version: 1.2\n! c\n[Term]\nid: GO:1\nname: a \\{b\\} "c" {x="y"} ! foo\n'
    b'def: "a \\"b\\" \\\\ c \\n" [PMID:1 "a, b"] {x="y"}\n\n[Term]\nid: http://x.org/xy {a="b"}\n'
    b'synonym: "x\\ty" EXACT foo []\nis_a: GO:1 {source="x\\"y", gci="z"} ! foo\nis_a: X\\ Y:1\n',
    "entities.rdf": b'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY f "http://food.org/">]>'
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    b'xmlns:s="http://www.w3.org/2004/02/skos/core#"><s:Concept rdf:about="&f;a">'
    b'<s:prefLabel xml:lang="en">a</s:prefLabel><s:broader rdf:resource="&f;b"/>'
    b"</s:Concept></rdf:RDF>",
    "yogurts": b"# test\n\nstopwords:en: of, the\n\nsynonyms:en: curd, curds\n\n"
    b"en: yogurts, \\, x, 1,3-y\nfr: yaourts\nnl_be: yoghurt\nxx: Y\nwikidata:en: Q1\n"
    b"description:en: Milk.\n\n< fr: yaourt\n<en:other\nen: E101(ii)\n",
    "entities.owl": b'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY f "http://food.org/">]>'
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xml:base="http://food.org/" '
    b'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">'
    b'<owl:Class rdf:about="#a"><rdfs:label xml:lang="en">a</rdfs:label><rdfs:subClassOf '
    b'rdf:resource="&f;b"/><rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="#p"/>'
    b'<owl:someValuesFrom rdf:resource="&f;c"/></owl:Restriction></rdfs:subClassOf></owl:Class>'
    b"</rdf:RDF>",
    "iab.tsv": b"Relational ID System\t\t\tTiers\t\t\r\n"
    b"Unique ID\tParent\tName\tTier 1\tTier 2\t\r\n"
    b"1\t\tFood\tFood\t\t\r\n2\t1\tFruit\tFood\tFruit\t\r\n3\t3\tTools\tTools\t\t\r\n",
    "names.tsv": b"Code\tTerm\tParent name\tsynonyms\n1\tfood\t\t\n2\tfruit\tfood\ta|b\n",
    "levels.csv": b"Our food\n\nid,level 1,level 2,level 3\n"
    b"1,food,,\n2,,fruit,\n3,,,apple\n4,tools,,\n",
    "food.md": b"---\na: b\n---\n# Food\n\nText.\n\n1. Fruit\n   - Apple\n\n     ```\n     - x\n"
    b"     ```\n2. Bread\n\n## Drinks\n\n* Tea\n\t+ Green tea\n",
    "shop.txt": b"gid://1 : Food\ngid://1-1 : Food > Fruit\ngid://1-1-1 : Food > Fruit > Apple\n",
}

Files = dict[str, bytes]

_WORD, _NUMBER = re.compile(rb"\w+"), re.compile(rb"\d+")


def valid_files(format: str) -> list[Files]:
    """Return sets of valid files of a format, by file name."""
    if format == "wordnet":
        return [_wordnet_files()]
    sets = []
    for name in NAMES[format]:
        files = FORMATS[format].write(FOOD, Target(Path(name))).files
        sets.append({file.name: text.encode("utf-8") for file, text in files.items()})
    suffixes = {
        **{".json": "json", ".rdf": "skos", ".owl": "owl", ".txt": "paths", ".obo": "obo"},
        **{".tsv": "rows", ".csv": "paths", ".md": "outline"},
        "": "openfoodfacts",
    }
    sets += [
        {name: text} for name, text in HAND_WRITTEN.items() if suffixes[Path(name).suffix] == format
    ]
    return sets


def _wordnet_files() -> Files:
    """Return the files of a WordNet database, which is not written by any format."""
    with TemporaryDirectory() as folder:
        return {path.name: path.read_bytes() for path in write_wordnet(Path(folder)).iterdir()}


def corrupt(files: Files, rng: random.Random) -> Files:
    """Return the same files, one of them changed in a few places."""
    name = rng.choice(list(files))
    content = files[name]
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        content = rng.choice(MUTATIONS)(content, rng)
    return {**files, name: content}


def _slice(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 5, 20, 100)))


def _cut(content: bytes, rng: random.Random) -> bytes:
    start, end = _slice(content, rng)
    return content[:start] + content[end:]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start, end = _slice(content, rng)
    return content[:end] + content[start:end] * rng.choice((1, 3, 50)) + content[end:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + rng.choice(TOKENS) + content[start:]


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    start = rng.randrange(len(content))
    return content[:start] + bytes([rng.randrange(256)]) + content[start + 1 :]


def _flip_bit(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    start = rng.randrange(len(content))
    return content[:start] + bytes([content[start] ^ 1 << rng.randrange(8)]) + content[start + 1 :]


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _move(content: bytes, rng: random.Random) -> bytes:
    start, end = _slice(content, rng)
    rest = content[:start] + content[end:]
    place = rng.randrange(len(rest) + 1)
    return rest[:place] + content[start:end] + rest[place:]


def _swap_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _shuffle_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _repeat_line(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\n".join(lines)


def _recode(content: bytes, rng: random.Random) -> bytes:
    encoding = rng.choice(("utf-16", "utf-16-be", "utf-8-sig", "latin-1", "utf-32"))
    return content.decode("utf-8", "replace").encode(encoding, "replace")


def _copy_word(content: bytes, rng: random.Random) -> bytes:
    """Replace a word by another one of the file: references become cyclic, and ids equal."""
    words = [*_WORD.finditer(content)]
    if not words:
        return content
    old, new = rng.choice(words), rng.choice(words)
    return content[: old.start()] + new[0] + content[old.end() :]


def _enlarge_number(content: bytes, rng: random.Random) -> bytes:
    numbers = [*_NUMBER.finditer(content)]
    if not numbers:
        return content
    old = rng.choice(numbers)
    new = rng.choice((b"9" * 5000, b"-1", b"1e999", b"NaN", b"0", b"99999999999", b"1_0", b"0x1"))
    return content[: old.start()] + new + content[old.end() :]


def _nest(content: bytes, rng: random.Random) -> bytes:
    """Repeat the start of a slice before it and its end behind it."""
    start, end = _slice(content, rng)
    depth, middle = rng.choice((2, 50, 2000)), (start + end) // 2
    return (
        content[:start]
        + content[start:middle] * depth
        + content[middle:end] * depth
        + content[end:]
    )


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    *(_cut, _repeat, _insert, _insert, _flip, _flip_bit, _truncate, _move, _swap_lines),
    *(_shuffle_lines, _repeat_line, _recode, _copy_word, _copy_word, _enlarge_number, _nest),
]
