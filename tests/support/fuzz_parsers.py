"""All parsers of files that somebody else may have written, with valid files for each."""

from __future__ import annotations

import gzip
import io
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openpyxl

from taxoexpan import Suggestion
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, LogEntry
from taxoexpan.errors import TaxoExpanError
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.glossary.glossary import Glossary
from taxoexpan.features.vector_file import read_vectors
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.formats.format import Target
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.corruptions import FOOD, NAMES, Files, valid_files
from tests.support.decisions import read_decisions
from tests.support.fuzz_inputs import pack_workbook, unpack_workbook

Read = Callable[[Path, random.Random], object]


def write_files(files: Files, folder: Path) -> Path:
    """Write the files into a folder, and return the first of them."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(iter(files))


@dataclass(frozen=True)
class Parser:
    """A parser, valid files for it, and how the files get into a folder."""

    name: str
    samples: Sequence[Files]
    read: Read
    write: Callable[[Files, Path], Path] = write_files


def taxonomy_parser(format: str) -> Parser:
    """Return the parser of a format of taxonomies."""

    def read(path: Path, rng: random.Random) -> object:
        place = path.parent if format == "wordnet" else path
        file = TaxonomyFile.open(place, rng.choice((None, format)))
        if file.format.is_written:
            check_rewriting(file, path.parent / "again")
        check_extending(file, path.parent / "extended")
        return file.taxonomy

    return Parser(format, valid_files(format), read)


def check_rewriting(file: TaxonomyFile, again: Path) -> None:
    """Check that what was read can be written and read again, and then changes no more."""
    format, name = file.format, file.path.name
    again.mkdir()
    taxonomy, seen = file.taxonomy, list[Taxonomy]()
    for _ in range(2):
        for path, content in format.write(taxonomy, Target(again / name)).contents().items():
            path.write_bytes(content)
        taxonomy = TaxonomyFile.open(again / name, format.name).taxonomy
        seen.append(taxonomy)
    first, second = map(facts, seen)
    if first != second:
        raise AssertionError(f"another copy differs: {first ^ second}")


def check_extending(file: TaxonomyFile, folder: Path) -> None:
    """Check that a new concept is added, or refused; what was there before must stay."""
    folder.mkdir()
    name, parent = "wholly new", file.taxonomy.ids[0]
    additions = Additions([Concept("wholly-new", name)], [(parent, "wholly-new")])
    output = folder / file.path.name
    try:
        file.write(additions, output)
    except TaxoExpanError:
        return
    read = TaxonomyFile.open(output, file.format.name).taxonomy
    is_added = name in read.labels or "wholly-new" in read  # a file may have no labels
    if not (is_added and facts(file.taxonomy) <= facts(read)):
        raise AssertionError(f"the extended file has other concepts: {facts(read)}")


def facts(taxonomy: Taxonomy) -> set[object]:
    """Return all that is known of the concepts and relations."""
    concepts = {
        (c.id, c.label, c.definition, c.deprecated, *sorted(c.synonyms)) for c in taxonomy.concepts
    }
    return {*concepts, *taxonomy.relations}


def _workbooks() -> list[Files]:
    book = openpyxl.Workbook()
    for row in (
        ["id", "label", "parents", "definition"],
        [1, "food", None, "eaten"],
        [2, "fruit", 1, "=A2"],
        [3, "apple", 2, "round"],
    ):
        book.active.append(row)
    book.create_sheet("other").append(["a", "b"])
    content = io.BytesIO()
    book.save(content)
    parts = unpack_workbook(content.getvalue())
    sheet = parts["xl/worksheets/sheet1.xml"].replace(b"<v></v>", b"<v>1</v>")
    sheet = sheet.replace(b"<v />", b"<v>1</v>").replace(b"<v/>", b"<v>1</v>")
    parts = {**parts, "xl/worksheets/sheet1.xml": sheet}
    main = ("xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels")
    ordered = {name: parts[name] for name in (*main, *(n for n in parts if n not in main))}
    return [ordered, {"workbook": pack_workbook(ordered)}]


def _write_workbook(parts: Files, folder: Path) -> Path:
    return write_files({"x.xlsx": pack_workbook(parts)}, folder)


def _read_workbook(path: Path, _: random.Random) -> object:
    file = TaxonomyFile.open(path)
    check_extending(file, path.parent / "extended")
    return file.taxonomy


def _read_taxonomy(path: Path, _: random.Random) -> object:
    return TaxonomyFile.open(path).taxonomy


def _write_compressed(files: Files, folder: Path) -> Path:
    (name, content), *_ = files.items()
    packed = content if name.endswith(".gz") else gzip.compress(content, mtime=0)
    return write_files({f"{name.removesuffix('.gz')}.gz": packed}, folder)


def _compressed() -> list[Files]:
    (table,) = valid_files("edges")
    return [table, {"x.csv.gz": gzip.compress(table["x.csv"], mtime=0)}]


def _decisions(path: Path, rng: random.Random) -> object:
    suggestions = read_decisions(path, FOOD, check_moves=rng.random() < 0.5)
    numbers = [n for each in suggestions for n in (each.score, each.confidence or 0)]
    assert all(0 <= number <= 1 for number in numbers)
    return suggestions


def _vectors(path: Path, _: random.Random) -> object:
    vectors = read_vectors(path, ["food", "fruit"])
    assert all(np.isfinite(vector).all() for vector in vectors.values())
    return vectors


def _vector_files() -> list[Files]:
    words = ("food", "fruit", "apple")
    numbers = [[0.5, -1e-3, 3], [1, 2, 3.25], [0, 1e5, -7]]
    lines = [f"{w} {' '.join(map(str, v))}" for w, v in zip(words, numbers, strict=True)]
    text = "\n".join(lines).encode() + b"\n"
    binary = b"3 3\n" + b"".join(
        w.encode() + b" " + struct.pack("<3f", *v) + b"\n"
        for w, v in zip(words, numbers, strict=True)
    )
    return [{"x.vec": b"3 3\n" + text}, {"x.txt": text}, {"x.bin": binary}]


def _glossary(path: Path, _: random.Random) -> object:
    glossary = Glossary.read(path, FOOD.concepts)
    return glossary.define_taxonomy(FOOD)


_GLOSSARIES = [
    {"g.tsv": b"title\tdefinition\nfruit\tA part of a plant.\napple\tA pome.\n"},
    {
        "g.jsonl": b'{"title": "Fruit", "text": "A fruit is a part."}\n'
        b'{"title": "apple", "text": ""}\n'
    },
]
_CORPORA = [
    {"c.txt": b"We eat fruit.\nAn apple is round.\n"},
    {"c.csv": b'1,"A title, quoted",We eat fruit.\n2,Other,An apple is round.\n'},
    {"c.tsv": b"1\tA title\tWe eat fruit.\n"},
    {"c.jsonl": b'{"title": "A", "text": "We eat fruit."}\n{"body": "An apple."}\n'},
]
_SUGGESTIONS = [
    {
        "s.csv": b"query,query_id,rank,parent_id,parent_label,path,score,confidence,decision,kind,"
        b"place,moves,why\n"
        b'kiwi,k1,1,fruit,fruit,food > fruit,0.5,0.25,accepted,attach,,,"so, so"\n'
        b"pome,k2,1,fruit,fruit,food > fruit,0.5,,,insert,,apple|pear,\n"
        b"Obst,k3,2,fruit,fruit,,1e-5,1,rejected,merge,none,,\n"
    },
    {"s.csv": b"query;parent_label;path\nkiwi;fruit;\nfig;;food > fruit\n'=1;;food\n"},
]
_LISTS = [
    {"new.csv": b"label,id,definition,synonyms\nkiwi,k,green,a|b\n'fig,,,\n"},
    {"new.txt": b"kiwi\nfig\n"},
    {"new.tsv": b"id\tname\nk\tkiwi\n"},
]


def _documents(path: Path, _: random.Random) -> object:
    return list(read_documents(path))


def _store_files() -> list[Files]:
    with TemporaryDirectory() as folder, DecisionStore.open(f"{folder}/r.db") as store:
        store.add_concepts([Concept("", "kiwi"), Concept("", "fig")])
        parent = Suggestion(Concept("", "kiwi"), 0, Concept("fruit", "fruit"))
        (first, *_) = store.queue().concepts
        store.append([LogEntry(first.key, Action.ACCEPT, 0, (parent,))], "Ada")
        store.close()
        return [{"r.db": Path(folder, "r.db").read_bytes()}]


def _store(path: Path, _: random.Random) -> object:
    with DecisionStore.open(str(path), must_exist=True) as store:
        return store.export_suggestions()


PARSERS = {
    parser.name: parser
    for parser in (
        *map(taxonomy_parser, (*NAMES, "wordnet")),
        Parser("workbook", _workbooks(), _read_workbook, _write_workbook),
        Parser("compressed", _compressed(), _read_taxonomy, _write_compressed),
        Parser("concept list", _LISTS, lambda path, _: read_concepts(path)),
        Parser("suggestions", _SUGGESTIONS, _decisions),
        Parser("glossary", _GLOSSARIES, _glossary),
        Parser("corpus", _CORPORA, _documents),
        Parser("word vectors", _vector_files(), _vectors),
        Parser("decision store", _store_files(), _store),
    )
}
