"""Compare a taxonomy file with an expanded copy, as libraries outside this package read them.

rdflib reads RDF, fastobo reads OBO, csv, json and openpyxl read tables, JSON and workbooks, and
markdown-it reads Markdown. Lines of text and blocks of Open Food Facts are read here, in the
simplest way.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"

RDF_SYNTAXES = {
    ".ttl": "turtle",
    ".owl": "xml",
    ".rdf": "xml",
    ".nt": "nt",
    ".nq": "nquads",
    ".jsonld": "json-ld",
}


@dataclass(frozen=True)
class Comparison:
    """The content of the old file that is missing in the new one, and the content that is new.

    `reader` is the library, `unit` the kind of its items, and `count` their number in the old file.
    """

    reader: str
    unit: str
    count: int
    missing: Sequence[str]
    added: Sequence[str]

    def states(self, child: Sequence[str], parent: Sequence[str]) -> bool:
        """Whether one new item has a name of the child and a name of the parent."""
        return any(
            any(name in item for name in child) and any(name in item for name in parent)
            for item in self.added
        )


def compare_files(old: Path, new: Path, format: str) -> Comparison:
    """Compare two files; `format` is needed for text files, whose names do not say it."""
    suffix = old.suffix.lower()
    if suffix in RDF_SYNTAXES:
        return _compare_sets("rdflib", "triples", *map(_triples, (old, new)))
    if suffix == ".obo":
        return _compare_obo(old, new)
    if suffix == ".json":
        return _compare_json(old, new)
    read: Callable[[Path], list[tuple[str, ...]]]
    if suffix == ".xlsx":
        reader, unit, read = "openpyxl", "rows", _workbook_rows
    elif suffix == ".md":
        reader, unit, read = "markdown-it", "items", _markdown_paths
    elif suffix in (".csv", ".tsv"):
        reader, unit, read = "csv", "rows", _table_rows
    elif format == "openfoodfacts":
        reader, unit, read = "own parser", "blocks", _blocks
    else:
        reader, unit, read = "own parser", "lines", _lines
    return _compare_sequences(reader, unit, read(old), read(new))


def _compare_sets(
    reader: str, unit: str, old: Counter[tuple[str, ...]], new: Counter[tuple[str, ...]]
) -> Comparison:
    """Compare items without an order; new items with the same first part are shown together."""
    added: dict[str, list[str]] = defaultdict(list)
    for first, *rest in (new - old).elements():
        added[first].append(" ".join(rest))
    missing = [" ".join(item) for item in (old - new).elements()]
    shown = ["\n  ".join([first, *sorted(rest)]) for first, rest in added.items()]
    return Comparison(reader, unit, old.total(), missing, shown)


def _compare_sequences(
    reader: str, unit: str, old: Sequence[tuple[str, ...]], new: Sequence[tuple[str, ...]]
) -> Comparison:
    """Compare items with an order: every old item must follow the old item before it."""
    added, position = [], 0
    for item in new:
        if position < len(old) and item == old[position]:
            position += 1
        else:
            added.append(" | ".join(item))
    missing = [" | ".join(item) for item in old[position:]]
    return Comparison(reader, unit, len(old), missing, added)


def _triples(path: Path) -> Counter[tuple[str, ...]]:
    """Return all triples; a blank node is replaced by its description, which is its content."""
    import rdflib

    graph = rdflib.Dataset(default_union=True).parse(path, format=RDF_SYNTAXES[path.suffix.lower()])

    def describe(node: object, above: frozenset[object] = frozenset()) -> str:
        if not isinstance(node, rdflib.BNode):
            return node.n3() if isinstance(node, rdflib.term.Identifier) else str(node)
        if node in above:
            return "[…]"
        inside = (
            f"{predicate} {describe(value, above | {node})}"
            for predicate, value in graph.predicate_objects(node)
        )
        return f"[{'; '.join(sorted(inside))}]"

    return Counter((describe(s), describe(p), describe(o)) for s, p, o, *_ in graph)


def _compare_obo(old: Path, new: Path) -> Comparison:
    """Compare frames with fastobo, or as text if fastobo refuses the original."""
    import fastobo

    def frames(path: Path) -> Counter[tuple[str, ...]]:
        document = fastobo.load(str(path))
        return Counter([(str(document.header),), *((str(frame),) for frame in document)])

    try:
        return _compare_sets("fastobo", "frames", frames(old), frames(new))
    except SyntaxError:
        compared = _compare_sequences("own parser", "stanzas", _blocks(old), _blocks(new))
        for stanza in compared.added:
            fastobo.loads(stanza.replace(" | ", "\n") + "\n")
        return compared


def _table_rows(path: Path) -> list[tuple[str, ...]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        return [tuple(row) for row in csv.reader(file, delimiter=delimiter)]


def _markdown_paths(path: Path) -> list[tuple[str, ...]]:
    """Return the path of every heading, list item and other block, from the top."""
    from markdown_it import MarkdownIt

    above: list[tuple[int, str]] = []
    found, depth = list[tuple[str, ...]](), 0
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type == "heading_open" and not depth:
            above = [each for each in above if each[0] < int(token.tag[1])]
            above.append((int(token.tag[1]), ""))
        elif token.type == "list_item_open":
            depth += 1
            above.append((10 + depth, ""))
        elif token.type == "list_item_close":
            depth -= 1
            above = [each for each in above if each[0] <= 10 + depth]
        elif token.content:
            if above and not above[-1][1]:
                texts = [part.content for part in token.children or () if part.type == "text"]
                above[-1] = (above[-1][0], "".join(texts) or token.content)
            found.append((*(text for _, text in above), token.content))
    return found


def _workbook_rows(path: Path) -> list[tuple[str, ...]]:
    import openpyxl

    return [
        (sheet.title, *("" if value is None else str(value) for value in row))
        for sheet in openpyxl.load_workbook(path)
        for row in sheet.iter_rows(values_only=True)
    ]


def _lines(path: Path) -> list[tuple[str, ...]]:
    return [(line,) for line in path.read_bytes().decode("utf-8-sig").split("\n") if line]


def _blocks(path: Path) -> list[tuple[str, ...]]:
    """Return the blocks between blank lines."""
    blocks: list[list[str]] = [[]]
    for line in path.read_bytes().decode("utf-8-sig").splitlines():
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [tuple(block) for block in blocks if block]


def _compare_json(old: Path, new: Path) -> Comparison:
    """Compare JSON: objects keep their keys, lists their items in order; a null may become a list.

    The place of new content is written with the names of the objects around it.
    """
    before: Json = json.loads(old.read_text(encoding="utf-8-sig"))
    after: Json = json.loads(new.read_text(encoding="utf-8-sig"))
    added: list[str] = []
    missing = [] if _contains(after, before, added, "") else ["an object, a value or the order"]
    return Comparison("json", "objects", _objects(before), missing, added)


def _contains(new: Json, old: Json, added: list[str], place: str) -> bool:
    """Whether the new value has everything of the old one; what it has beyond goes to `added`."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != [key for key in new if key in old] or _identity(old) != _identity(new):
            return False
        inside = f"{place} / {_identity(old)}" if _identity(old) else place
        added += [f"{inside}: {key} = {_text(new[key])}" for key in new if key not in old]
        return all(_contains(new[key], value, added, inside) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return _contains_list(new, old, added, place)
    if old is None and isinstance(new, list):
        added.append(f"{place}: null = {_text(new)}")
        return True
    return old == new and type(old) is type(new)


def _contains_list(new: list[Json], old: list[Json], added: list[str], place: str) -> bool:
    position = 0
    for item in new:
        found: list[str] = []
        if position < len(old) and _contains(item, old[position], found, place):
            position += 1
            added += found
        else:
            added.append(f"{place}: {_text(item)}")
    return position == len(old)


def _identity(value: dict[str, Json]) -> str:
    """Return the texts and numbers of an object, by which it is recognized."""
    shown: list[Hashable] = [v for v in value.values() if isinstance(v, str | int)]
    return " ".join(str(one) for one in shown[:3])


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _objects(value: Json) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_objects, value.values()))
    return sum(map(_objects, value)) if isinstance(value, list) else 0
