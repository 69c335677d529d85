"""SemEval-2016 Task 14: new concepts with definitions to place in WordNet 3.0, and their score.

A file of concepts has the tab-separated columns `lemma, part of speech, id, definition, address`.
A key has `id, lemma#pos#sense, operation`. The operation makes the concept a hyponym of the synset
(attach) or a word of it (merge).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reproduction.semeval.wu_palmer import WuPalmer
from reproduction.task import Task, make_task
from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.features.encoder import Encoder
from taxoexpan.formats.text_file import TextFile
from taxoexpan.formats.wordnet import PARTS_OF_SPEECH, WordNetFiles, open_parts
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import Holdout

TASKS = ("semeval-nouns", "semeval-verbs")
"""The names of the tasks of both parts of speech."""
FILES = {
    "validation": ("training/training.data.tsv", "keys/gold/training/training.key.tsv"),
    "test": ("test/test.data.tsv", "keys/gold/test/test.key.tsv"),
}
"""The organizers' files with the concepts and the key of each half."""


@dataclass(frozen=True)
class KeyEntry:
    """The synset and the operation that a key gives for a concept."""

    synset: str
    operation: str


Key = dict[str, KeyEntry]
"""A key, by the id of the concept."""


@dataclass(frozen=True)
class Score:
    """The mean Wu-Palmer similarity of the placed concepts, and the fraction that was placed."""

    wu_palmer: float
    recall: float

    @property
    def f1(self) -> float:
        """The task's own score: the harmonic mean of similarity and recall."""
        both = self.wu_palmer + self.recall
        return 2 * self.wu_palmer * self.recall / both if both else 0.0


@dataclass(frozen=True)
class WordNet:
    """One part of speech of WordNet: its taxonomy, and the synsets of each lemma by sense."""

    pos: str
    taxonomy: Taxonomy
    senses: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, directory: Path, instances: bool = False) -> list[WordNet]:
        """Read nouns, then verbs; with `instances`, instance synsets and relations count too."""
        whole = read_taxonomy(directory, instances=instances)
        parts = []
        for pos, files in open_parts(TextFile.open(directory)).items():
            others = [id for id in whole.ids if f"#{pos}#" not in id]
            parts.append(cls(pos, whole.without(others), _senses(files)))
        return parts

    def id_of(self, sense: str) -> str | None:
        """Return the id of the synset `lemma#pos#sense`, or None if there is none."""
        lemma, _, number = sense.rpartition("#")
        lemma, _, pos = lemma.rpartition("#")
        ids = self.senses.get(lemma.lower().replace(" ", "_"), ()) if pos == self.pos else ()
        return ids[int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(ids) else None


def read_concepts(path: Path, pos: str | None = None) -> list[Concept]:
    """Read the concepts of a file, or those of one part of speech, with the task's ids."""
    return [
        Concept(id, lemma, definition=definition)
        for lemma, part, id, definition in _cells(path, 4)
        if pos is None or PARTS_OF_SPEECH[pos] == part
    ]


def read_key(path: Path) -> Key:
    """Read a key."""
    return {id: KeyEntry(synset, operation) for id, synset, operation in _cells(path, 3)}


def key_content(key: Mapping[str, KeyEntry]) -> bytes:
    """Return a key in the task's format."""
    lines = (f"{id}\t{entry.synset}\t{entry.operation}\n" for id, entry in key.items())
    return "".join(lines).encode()


def score_key(
    key: Mapping[str, KeyEntry], gold: Mapping[str, KeyEntry], wordnets: Sequence[WordNet]
) -> Score:
    """Score a key against the gold key; omitted concepts only lower the recall.

    A synset of another part of speech, or one that WordNet lacks, has similarity 0.
    """
    similarities = [(wordnet, WuPalmer(wordnet.taxonomy)) for wordnet in wordnets]
    values = [
        max(_similarity(key[id].synset, right.synset, *both) for both in similarities)
        for id, right in gold.items()
        if id in key
    ]
    return Score(float(np.mean(values)) if values else 0.0, len(values) / len(gold))


def read_half(directory: Path, half: str, wordnet: WordNet) -> Holdout:
    """Return the concepts of one half and part of speech as queries with true parents.

    The parents of a merged concept are those of its synset, as the authors of the paper count them.
    A concept whose synset has another part of speech is left out: there is one, *concuss*.
    """
    data, key = (directory / name for name in FILES[half])
    gold, taxonomy = read_key(key), wordnet.taxonomy
    concepts, parents = [], []
    for concept in read_concepts(data, wordnet.pos):
        if concept.id not in gold:
            raise FormatError(key, f"no line for {concept.id!r} of {data.name}", fix="add it")
        entry = gold[concept.id]
        if f"#{wordnet.pos}#" not in entry.synset:
            continue
        id = wordnet.id_of(entry.synset)
        if id is None:
            message = f"{entry.synset!r} is not a synset of this WordNet"
            raise FormatError(key, message, fix="the task needs WordNet 3.0")
        merged = list(taxonomy.parents(id)) if entry.operation == "merge" else []
        concepts.append(concept)
        parents.append(np.array([taxonomy.index(parent) for parent in merged or [id]]))
    if not concepts:
        message = f"no concept of the file is a {PARTS_OF_SPEECH[wordnet.pos]}"
        raise FormatError(data, message, fix="restore the original file of the task")
    return Holdout(taxonomy, tuple(concepts), tuple(parents))


def semeval_task(directory: Path, semeval: Path, part: str, encoder: Encoder, joined: bool) -> Task:
    """Return the task to place the test concepts of one part of speech in WordNet.

    The training concepts are the validation queries, as in the paper; no method learns from them.
    The label of a query is its id, since keys use ids.
    """
    wordnet = next(w for w in WordNet.read(directory) if PARTS_OF_SPEECH[w.pos] == part)
    validation, test = (read_half(semeval, half, wordnet) for half in ("validation", "test"))
    order = {lemma.replace("_", " "): ids for lemma, ids in wordnet.senses.items()}
    task = make_task(f"semeval-{part}s", encoder, validation, test, joined, order)
    return replace(task, labels=tuple(concept.id for concept in test.concepts))


def _similarity(placed: str, right: str, wordnet: WordNet, similarity: WuPalmer) -> float:
    ids = [wordnet.id_of(sense) for sense in (placed, right)]
    if None in ids:
        return 0.0
    one, other = (wordnet.taxonomy.index(id) for id in ids if id is not None)
    return similarity(one, other)


def _senses(part: WordNetFiles) -> dict[str, list[str]]:
    """Return the ids of the synsets of each lemma in the order of its senses."""
    ids = {synset.offset: part.id_of(synset) for synset in part.synsets}
    known = {
        lemma: [ids[offset] for offset in dict.fromkeys(offsets) if offset in ids]
        for lemma, (_, offsets) in part.lemmas.items()
    }
    return {lemma: senses for lemma, senses in known.items() if senses}


def _cells(path: Path, count: int) -> Iterator[list[str]]:
    """Yield the first cells of each line that is not blank."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        message = "the file does not exist"
        raise FormatError(path, message, fix="give the folder of SemEval-2016 Task 14") from None
    except UnicodeDecodeError:
        raise FormatError(path, "the file is not UTF-8", fix="save it as UTF-8") from None
    for number, line in enumerate(lines, start=1):
        cells = line.rstrip("\r").split("\t")
        if line.strip() and len(cells) < count:
            message = f"expected {count} tab-separated cells, found {len(cells)}"
            raise FormatError(path, message, fix="restore the file", line=number)
        if line.strip():
            yield [cell.strip() for cell in cells[:count]]
