"""Count what the tests share with the vocabularies for pre-training, as a Markdown table.

    python -m reproduction.pretraining.overlap FOLDER shop=old.txt,new.txt foods=food.csv,new.labels

FOLDER has a gzip file of JSON lines per vocabulary, with `id`, `label` and `parents` of a concept.
A test is an old taxonomy and a later release, or a file NAME.labels with one new label per line.
Names are compared without case, hyphens and the number (singular or plural) of the last word.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from taxoexpan import read_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError, TaxoExpanError
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.taxonomy.names import name_key

LABELS = ".labels"
"""The end of the name of a file with one label per line."""
VOCABULARY = ".jsonl.gz"
"""The end of the name of a vocabulary's file."""
SHOWN = 3
"""The number of vocabularies that a row names."""

Relation = tuple[str, str]
"""The name keys of a parent and its child."""


@dataclass(frozen=True)
class Vocabulary:
    """The name keys of the concepts of one vocabulary, and their relations."""

    name: str
    names: frozenset[str]
    relations: frozenset[Relation]


@dataclass(frozen=True)
class TestSet:
    """The name keys of the new concepts of a test, and the relations that a model learns from."""

    name: str
    names: tuple[str, ...]
    relations: tuple[Relation, ...]

    @classmethod
    def parse(cls, text: str) -> TestSet:
        """Read the files of `NAME=OLD,NEW`."""
        name, _, paths = text.partition("=")
        old_path, _, new_path = paths.partition(",")
        if not (name and old_path and new_path):
            raise ConfigurationError(f"{text!r} is not a test", fix="give NAME=OLD,NEW")
        old = read_taxonomy(old_path).active
        if new_path.endswith(LABELS):
            new = read_labels(Path(new_path))
        else:
            growth = growth_between(old, read_taxonomy(new_path))
            new = [concept.label for concept in growth.queries.concepts]
        keys = [name_key(label) for label in old.labels]
        pairs = zip(*(indices.tolist() for indices in old.relation_indices), strict=True)
        relations = tuple((keys[parent], keys[child]) for parent, child in pairs)
        return cls(name, tuple(map(name_key, new)), relations)


def read_labels(path: Path) -> list[str]:
    """Read a file with one label per line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(path, f"not readable: {error}") from error
    return [line for line in lines if line.strip()]


def read_vocabulary(path: Path, excluded: Collection[str] = frozenset()) -> Vocabulary:
    """Read a vocabulary without the concepts with an excluded name key, and their relations."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            concepts = [json.loads(line) for line in lines]
        keys = {concept["id"]: name_key(concept["label"]) for concept in concepts}
        names = {id: key for id, key in keys.items() if key not in excluded}
        relations = {
            (names[parent], names[concept["id"]])
            for concept in concepts
            for parent in concept["parents"]
            if parent in names and concept["id"] in names
        }
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise FormatError(path, f"not a vocabulary: {error!r}") from error
    name = path.name.removesuffix(VOCABULARY)
    return Vocabulary(name, frozenset(names.values()), frozenset(relations))


def table(vocabularies: Sequence[Vocabulary], tests: Iterable[TestSet]) -> str:
    """Return a table with a row per test: its new concepts and old relations in vocabularies."""
    head = ("test", "new concepts in the data", "old relations in the data", "most of them in")
    lines = [f"| {' | '.join(head)} |", "|---|---|---|---|"]
    every_name = frozenset[str]().union(*(each.names for each in vocabularies))
    every_relation = frozenset[Relation]().union(*(each.relations for each in vocabularies))
    for test in tests:
        concepts = _share(sum(name in every_name for name in test.names), len(test.names))
        shared = [relation for relation in test.relations if relation in every_relation]
        found = {v.name: sum(r in v.relations for r in shared) for v in vocabularies}
        most = sorted(filter(found.get, found), key=lambda name: -found[name])[:SHOWN]
        places = ", ".join(f"{name} {_share(found[name], len(test.relations))}" for name in most)
        relations = _share(len(shared), len(test.relations))
        total = f"{relations} of {len(test.relations):,}"
        lines.append(f"| {test.name} | {concepts} of {len(test.names):,} | {total} | {places} |")
    return "\n".join(lines)


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / max(total, 1):.1%})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("tests", nargs="+", metavar="NAME=OLD,NEW")
    parser.add_argument(
        "--exclude", type=Path, metavar="LABELS", help="leave out concepts with these labels"
    )
    options = parser.parse_args(arguments)
    try:
        tests = [TestSet.parse(text) for text in options.tests]
        excluded = set(map(name_key, read_labels(options.exclude) if options.exclude else ()))
        paths = sorted(options.folder.glob(f"*{VOCABULARY}"))
        if not paths:
            raise FormatError(options.folder, f"no file *{VOCABULARY}", fix="give another folder")
        print(table([read_vocabulary(path, excluded) for path in paths], tests))
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
