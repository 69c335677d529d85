"""SemEval-2016 Task 13 as papers on taxonomy expansion use it: terms to place in three taxonomies.

The data is that of the repository of QuanTaxo (`sahilmishra0012/QuanTaxo`, folder `data`). The
folder of each domain has four files: `DOMAIN_train.taxo` (parent, tab, child), the terms to place
in `DOMAIN_eval.terms`, one true parent per term in `DOMAIN_eval.gt`, and `dic.json` with texts by
term, the first of which is the definition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from reproduction.measurements.trial import Data
from taxoexpan import Taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.taxonomy import Concept

DOMAINS = ("environment", "science", "food")
"""The folders of the data."""
PREFIX = "task13-"
"""What the names of the data sets start with."""
FIX = "give the folder `data` of the repository of QuanTaxo"

Relations = list[tuple[str, str]]
"""Pairs of a parent and a child."""


def read_task13(folder: Path) -> list[Data]:
    """Read all domains that the folder has."""
    domains = [domain for domain in DOMAINS if (folder / domain).is_dir()]
    if not domains:
        names = ", ".join(DOMAINS)
        raise FormatError(folder, f"the folder has none of the folders {names}", fix=FIX)
    return [read_domain(folder / domain, domain) for domain in domains]


def read_domain(folder: Path, domain: str) -> Data:
    """Read one domain: the taxonomy to learn from, and as its newer release the one with all terms.

    No text of a term to place is in the taxonomy to learn from, and no text of a term that is in
    neither file is read. Repeated relations count once. A term has its name as its id.
    """
    known = _read_relations(folder / f"{domain}_train.taxo")
    new = _read_terms(folder, domain, {term for relation in known for term in relation})
    definitions = _read_definitions(folder / "dic.json")
    training = _taxonomy(known, definitions)
    return Data(PREFIX + domain, training, release=_taxonomy([*known, *new], definitions))


def _taxonomy(relations: Relations, definitions: Mapping[str, str]) -> Taxonomy:
    """Return a taxonomy of relations, with the definitions of its own terms."""
    terms = dict.fromkeys(term for relation in relations for term in relation)
    concepts = [Concept(term, term, definition=definitions.get(term, "")) for term in terms]
    return Taxonomy(concepts, dict.fromkeys(relations))


def _read_relations(path: Path) -> Relations:
    relations = []
    for number, line in enumerate(_lines(path), start=1):
        cells = line.split("\t")
        if len(cells) != 2 or not all(cells):
            problem = "expected a parent, a tab and a child"
            raise FormatError(path, problem, fix="restore the file", line=number)
        relations.append((cells[0], cells[1]))
    return relations


def _read_terms(folder: Path, domain: str, known: Iterable[str]) -> Relations:
    """Return the true parent of each term to place, and the term."""
    paths = [folder / f"{domain}_eval.{ending}" for ending in ("terms", "gt")]
    terms, parents = map(_lines, paths)
    if len(terms) != len(parents):
        problem = f"{len(parents)} parents of {len(terms)} terms"
        raise FormatError(paths[1], problem, fix="restore both files")
    for number, (term, parent) in enumerate(zip(terms, parents, strict=True), start=1):
        if term in known:
            problem = f"{term!r} is also in the taxonomy to learn from"
            raise FormatError(paths[0], problem, fix="remove it from one file", line=number)
        if parent not in known:
            problem = f"the parent {parent!r} is not in the taxonomy"
            raise FormatError(paths[1], problem, fix="restore the file", line=number)
    return list(zip(parents, terms, strict=True))


def _read_definitions(path: Path) -> dict[str, str]:
    """Return the first text of each term."""
    try:
        texts = json.loads(_text(path))
        return {term: str(values[0]).strip() for term, values in texts.items() if values}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        problem = f"not a JSON object with lists of texts ({error})"
        raise FormatError(path, problem, fix="restore the file") from None


def _lines(path: Path) -> list[str]:
    """Return the lines of a file without spaces around them; an empty last line does not count."""
    return [line.strip() for line in _text(path).rstrip("\n").split("\n")]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FormatError(path, "the file does not exist", fix=FIX) from None
    except UnicodeDecodeError:
        raise FormatError(path, "the file is not UTF-8", fix="restore the file") from None
