"""Readers of the sources of broad texts: dictionaries, WordNet, Debian, ISO codes and abstracts."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BRACKETS = re.compile(r"\[[^\[\]]*\]|<[^<>]*>|\(\d{4}-\d\d-\d\d\)")
MAX_NESTED = 2
"""The depth of brackets in a dictionary, at most."""
PRONUNCIATION = re.compile(r"\\[^\\]*\\|\([^()]*[\"`^*][^()]*\)")
PART_OF_SPEECH = re.compile(
    r"^(?:[\s,;&]|(?:n|a|v|vt|vi|t|i|p|pr|pl|sing|imp|adj|adv|obs|interj|conj|prep|pron|superl"
    r"|compar|fem|masc|prop|R|Obs|Archaic)\.)+"
)
SENSE = re.compile(r"^(?:\d+\.|\([a-z]\))\s*")
SYNONYMS = "Syn:"
OPENING = 3
"""The number of sentences of an abstract or a description."""
MAX_NAME = 60
"""The characters of a name, at most; longer ones are texts."""
PACKAGE_PARTS = re.compile(
    r"^lib|^golang|^node|^r-|^ruby|^python|^fonts|-(?:dev|doc|dbg|data|common)"
)


@dataclass(frozen=True)
class Entry:
    """The names of a thing, a text about it, and more text from which only phrases are cut."""

    names: tuple[str, ...] = ()
    text: str = ""
    more: str = ""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return SENTENCE_END.split(" ".join(text.split()))


def opening(text: str) -> Iterator[Entry]:
    """Yield the first sentences of a text, and the others together as more text."""
    parts = sentences(text)
    for sentence in parts[:OPENING]:
        yield Entry(text=sentence)
    yield Entry(more=" ".join(parts[OPENING:]))


def dictionary(index: Path) -> Iterator[Entry]:
    """Yield the entries of a dictionary of dictd, given its index."""
    with gzip.open(index.with_suffix(".dict.dz")) as file:
        content = file.read()
    names: dict[tuple[int, int], list[str]] = {}
    for line in index.read_text(encoding="utf-8").splitlines():
        name, start, length, *_ = line.split("\t")
        if not name.startswith("00database"):
            names.setdefault((_number(start), _number(length)), []).append(name)
    for (first, size), found in names.items():
        yield from _definitions(found, content[first : first + size].decode("utf-8", "replace"))


def _number(text: str) -> int:
    """Return a number in the notation of dictd's indexes."""
    number = 0
    for letter in text:
        number = number * 64 + BASE64.index(letter)
    return number


def _definitions(names: list[str], text: str) -> Iterator[Entry]:
    """Yield an entry per paragraph of a dictionary's article; synonyms are entries without text."""
    words = tuple(name for name in names if len(name) <= MAX_NAME)
    yield Entry(words)
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
        plain = PRONUNCIATION.sub(" ", " ".join(paragraph.split()))
        for _ in range(MAX_NESTED):
            plain = BRACKETS.sub(" ", plain)
        plain = " ".join(re.sub(r"[{}]", "", plain).split())
        if number == 0:
            plain = _without_head(plain, names)
        if plain.startswith(SYNONYMS):
            synonyms = re.split(r"[,;.]\s*", plain.removeprefix(SYNONYMS).partition("--")[0])
            yield Entry(tuple(each.strip() for each in synonyms if 2 < len(each) <= MAX_NAME))
        elif len(plain) > 10 and "--" not in plain[-30:]:  # a dash before the author of a quotation
            yield Entry(words[:1], SENSE.sub("", plain))


def _without_head(text: str, names: list[str]) -> str:
    """Return a definition without the headwords and the parts of speech before it."""
    for name in sorted(names, key=len, reverse=True):
        if text.lower().startswith(name.lower()):
            text = text[len(name) :]
    return PART_OF_SPEECH.sub("", text).strip()


def wordnet(folder: Path) -> Iterator[Entry]:
    """Yield the synsets of WordNet's database files, and their examples."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith(" "):
                continue  # the licence
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            names = tuple(re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in words)
            definition, *examples = re.split(r";\s*(?=\")", gloss.strip())
            yield Entry(names, definition)
            for example in examples:
                yield Entry(text=example.strip('" '))


def debian(folder: Path) -> Iterator[Entry]:
    """Yield packages with their short descriptions, and first sentences of the long ones."""
    for path in sorted(folder.glob("*Translation-en")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            name, short, long = _description(block)
            names = () if PACKAGE_PARTS.search(name) else (name,)
            yield Entry(names, short)
            yield Entry(text=short)
            yield from opening(long)


def _description(block: str) -> tuple[str, str, str]:
    """Return a package, its short description, and the first paragraph of the long one."""
    name = short = ""
    lines: list[str] = []
    for line in block.splitlines():
        if line.startswith("Package: "):
            name = line.removeprefix("Package: ")
        elif line.startswith("Description-en: "):
            short = line.removeprefix("Description-en: ")
        elif line == " .":
            break
        elif line.startswith(" ") and not line.startswith("  "):
            lines.append(line)
    return name, short, " ".join(lines)


def iso_codes(folder: Path) -> Iterator[Entry]:
    """Yield the names of countries, subdivisions, languages, scripts and currencies."""
    countries: dict[str, str] = {}
    for path in sorted(folder.glob("iso_*.json")):
        for row in next(iter(json.loads(path.read_text(encoding="utf-8")).values())):
            if "alpha_2" in row:
                countries.setdefault(row["alpha_2"], row["name"])
            kinds = ("name", "official_name", "common_name", "inverted_name")
            names = tuple(dict.fromkeys(row[kind] for kind in kinds if kind in row))
            country = countries.get(row.get("code", "").partition("-")[0], "")
            yield Entry(names, f"{row['type']}, {country}" if country and "type" in row else "")


def abstracts(path: Path) -> Iterator[Entry]:
    """Yield the titles and the sentences of abstracts, from `id<TAB>title<TAB>abstract`."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            _, title, abstract = line.rstrip("\n").split("\t")
            yield Entry(text=title)
            yield from opening(abstract)
