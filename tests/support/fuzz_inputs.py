"""Inputs for parsers: corrupted files, random files from the same lines, and known attacks."""

from __future__ import annotations

import gzip
import io
import random
import re
import zipfile
from collections.abc import Iterator, Sequence

from tests.support.corruptions import TOKENS, Files, corrupt

_TOKEN = re.compile(rb"\w+|[^\w\s]")
_SHORT, _LONG = 15_000, 300_000
MANY_ROUNDS = 100
"""With fewer rounds, only some of the attacks are tried, and shorter ones."""

_ENTITIES = "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' if n else '<!ENTITY a0 "lol">' for n in range(10)
)
_RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:s="http://www.w3.org/2004/02/skos/core#"><s:Concept rdf:about="http://x.org/a">'
    "<s:prefLabel>{}</s:prefLabel></s:Concept></rdf:RDF>"
)
BILLION_LAUGHS = f"<!DOCTYPE rdf:RDF [{_ENTITIES}]>{_RDF.format('&a9;')}".encode()
EXTERNAL_ENTITY = (
    '<!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + _RDF.format("&x;")
).encode()


def attacks(length: int) -> list[bytes]:
    """Nesting, long lines, repeated marks, entities, compression, cycles and huge numbers."""
    depth = length // 15
    return [
        *(
            b"",
            b"\n",
            b"\0" * 1000,
            b"\xff\xfe",
            b"\x80",
            b"\xef\xbb\xbf",
            b"\x1f\x8b",
            b"PK\x03\x04",
        ),
        *(b"[" * depth, b'{"a":' * depth, b'[{"children":' * depth, b"<a>" * depth, b"(" * depth),
        *(b"9" * length, b"a" * length, b'"' * (length + 1), b"\n" * length, b"," * length),
        *(b"\t" * length, b" > " * (length // 3), b"a|" * (length // 2), b"-" * length),
        *(BILLION_LAUGHS, EXTERNAL_ENTITY, gzip.compress(b"\0" * length * 10, mtime=0)),
        *(b"child,parent\na,b\nb,a\n", b"id,label,parents\na,a,b\nb,b,c\nc,c,a\n"),
        *(b"a\tb\nb\ta\n", b'[{"id": "a", "parents": ["b"]}, {"id": "b", "parents": ["a"]}]'),
        b"label,score\n" + b"x,1e999\n" * 9 + b"y,nan\n",
        b"id,label,parents\n" + b"".join(b"%d,%d,%d\n" % (n, n, n - 1) for n in range(depth)),
    ]


def inputs(samples: Sequence[Files], rounds: int, rng: random.Random) -> Iterator[Files]:
    """Yield the valid files, attacks, and then corrupted and generated files."""
    yield from samples
    known = attacks(_SHORT if rounds < MANY_ROUNDS else _LONG)
    chosen = known if rounds >= MANY_ROUNDS else rng.sample(known, rounds // 3)
    for attack in chosen:
        first, *others = samples[0].items()
        yield {first[0]: attack, **dict(others)}
    lines = [line for files in samples for text in files.values() for line in text.split(b"\n")]
    tokens = [token for line in lines for token in _TOKEN.findall(line)]
    for number in range(rounds - len(chosen) - len(samples)):
        files = samples[number % len(samples)]
        yield _generated(files, lines, tokens, rng) if number % 4 == 3 else corrupt(files, rng)


def _generated(
    files: Files, lines: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random
) -> Files:
    """Write a file of random lines of all samples, in which some words are others."""

    def word(match: re.Match[bytes]) -> bytes:
        pool = tokens if rng.random() < 0.8 else TOKENS
        return rng.choice(pool) if tokens and rng.random() < 0.1 else match[0]

    name = rng.choice(list(files))
    start = files[name].split(b"\n")[: rng.choice((0, 1, 1, 3))]
    chosen = [*start, *rng.choices(lines, k=rng.randrange(1, 20))]
    return {**files, name: b"\n".join(_TOKEN.sub(word, line) for line in chosen)}


def pack_workbook(parts: Files) -> bytes:
    """Return a workbook with these parts; one of them that is no part is the whole file."""
    if "workbook" in parts:
        return parts["workbook"]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def unpack_workbook(content: bytes) -> Files:
    """Return the parts of a workbook."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {part.filename: archive.read(part) for part in archive.infolist()}
