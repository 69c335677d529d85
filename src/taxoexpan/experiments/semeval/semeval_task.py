"""SemEval-2016 Task 14: new concepts with definitions, to be placed in WordNet 3.0, and its score.

A file of concepts has the lines `lemma, part of speech, id, definition, address`, a key `id,
lemma#pos#sense, operation`, all with tabs between. The operation says what becomes of the concept:
a hyponym of that synset (attach), or a word of it (merge).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.experiments.paper.task import Task, make_task
from taxoexpan.experiments.semeval.wu_palmer import WuPalmer
from taxoexpan.features.encoder import Encoder
from taxoexpan.formats.text_file import TextFile
from taxoexpan.formats.wordnet.synset_reader import PARTS_OF_SPEECH, WordNetFiles
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import Holdout

TASKS = ("semeval-nouns", "semeval-verbs")
"""What the tasks of both parts of speech are called."""
FILES = {
    "validation": ("training/training.data.tsv", "keys/gold/training/training.key.tsv"),
    "test": ("test/test.data.tsv", "keys/gold/test/test.key.tsv"),
}
"""The concepts and the key of each half, as the organisers gave them away."""


@dataclass(frozen=True)
class Placed:
    """Where a key puts a concept."""

    synset: str
    operation: str


@dataclass(frozen=True)
class Score:
    """The mean similarity of what was placed, the share that was, and their harmonic mean."""

    wu_palmer: float
    recall: float

    @property
    def f1(self) -> float:
        """The task's own figure."""
        both = self.wu_palmer + self.recall
        return 2 * self.wu_palmer * self.recall / both if both else 0.0


@dataclass(frozen=True)
class WordNet:
    """One part of speech of a WordNet: its taxonomy, and the synsets of each lemma, by sense."""

    pos: str
    taxonomy: Taxonomy
    senses: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, directory: Path, instances: bool = False) -> list[WordNet]:
        """Nouns, then verbs; `instances` are synsets too, and theirs a relation like any other."""
        whole = Taxonomy.read(directory, instances=instances)
        parts = []
        for pos in PARTS_OF_SPEECH:
            others = [id for id in whole.ids if f"#{pos}#" not in id]
            parts.append(
                cls(
                    pos,
                    whole.without(others),
                    _senses(WordNetFiles.open(TextFile.open(directory), pos)),
                )
            )
        return parts

    def id_of(self, sense: str) -> str | None:
        """The id of the synset that a key calls `lemma#pos#sense`, if there is one."""
        lemma, _, number = sense.rpartition("#")
        lemma, _, pos = lemma.rpartition("#")
        ids = self.senses.get(lemma.lower().replace(" ", "_"), ()) if pos == self.pos else ()
        return ids[int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(ids) else None


def read_concepts(path: Path, pos: str | None = None) -> list[Concept]:
    """The concepts of a file, or those of one part of speech; their ids are the task's own."""
    return [
        Concept(id, lemma, definition=definition)
        for lemma, part, id, definition in _cells(path, 4)
        if pos is None or PARTS_OF_SPEECH[pos] == part
    ]


def read_key(path: Path) -> dict[str, Placed]:
    """Where a key puts each concept."""
    return {id: Placed(synset, operation) for id, synset, operation in _cells(path, 3)}


def key_content(key: Mapping[str, Placed]) -> bytes:
    """A key as the task has it."""
    lines = (f"{id}\t{placed.synset}\t{placed.operation}\n" for id, placed in key.items())
    return "".join(lines).encode()


def score_key(
    key: Mapping[str, Placed], gold: Mapping[str, Placed], wordnets: Sequence[WordNet]
) -> Score:
    """Compare a key with the right one; what it leaves out counts against its recall alone.

    A synset of another part of speech, or one that WordNet lacks, is worth nothing.
    """
    similarities = [(wordnet, WuPalmer(wordnet.taxonomy)) for wordnet in wordnets]
    worth = [
        max(_similarity(key[id].synset, right.synset, *both) for both in similarities)
        for id, right in gold.items()
        if id in key
    ]
    return Score(float(np.mean(worth)) if worth else 0.0, len(worth) / len(gold))


def read_half(directory: Path, half: str, wordnet: WordNet) -> Holdout:
    """The concepts of one half and part of speech, each with the synset where it belongs.

    One that is merged belongs to the parents of its synset, as the authors of the paper count it.
    One whose synset has another part of speech than itself is left out: there is one, *concuss*.
    """
    data, key = (directory / name for name in FILES[half])
    gold, taxonomy = read_key(key), wordnet.taxonomy
    concepts, parents = [], []
    for concept in read_concepts(data, wordnet.pos):
        if concept.id not in gold:
            raise FormatError(key, f"has no line for {concept.id!r} of {data.name}; add it")
        placed = gold[concept.id]
        if f"#{wordnet.pos}#" not in placed.synset:
            continue
        id = wordnet.id_of(placed.synset)
        if id is None:
            message = f"{placed.synset!r} is no synset of this WordNet"
            raise FormatError(key, f"{message}; the task is about WordNet 3.0")
        merged = list(taxonomy.parents(id)) if placed.operation == "merge" else []
        concepts.append(concept)
        parents.append(np.array([taxonomy.index(parent) for parent in merged or [id]]))
    if not concepts:
        message = f"has no concept that is a {PARTS_OF_SPEECH[wordnet.pos]}"
        raise FormatError(data, f"{message}; restore the task's own file")
    return Holdout(taxonomy, tuple(concepts), tuple(parents))


def semeval_task(directory: Path, semeval: Path, part: str, encoder: Encoder, joined: bool) -> Task:
    """Place the test concepts of one part of speech in WordNet.

    The training concepts are validated on, as the paper does, and never learned from. A query's
    label in the task is its id, which keys go by.
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
    """The ids of the synsets of each lemma, sense by sense."""
    ids = {synset.offset: part.id_of(synset) for synset in part.synsets}
    by_lemma: dict[str, dict[int, str]] = {}
    for (lemma, offset), sense in part.senses.items():
        if offset in ids:
            by_lemma.setdefault(lemma, {})[sense] = ids[offset]
    return {lemma: [senses[n] for n in sorted(senses)] for lemma, senses in by_lemma.items()}


def _cells(path: Path, count: int) -> Iterator[list[str]]:
    """The first cells of each line that is not blank."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        message = "there is no such file; give the folder of SemEval-2016 Task 14"
        raise FormatError(path, message) from None
    except UnicodeDecodeError:
        raise FormatError(path, "is not UTF-8; convert it") from None
    for number, line in enumerate(lines, start=1):
        cells = line.rstrip("\r").split("\t")
        if line.strip() and len(cells) < count:
            message = f"has {len(cells)} cells where {count} are wanted, with tabs between"
            raise FormatError(path, message, number)
        if line.strip():
            yield [cell.strip() for cell in cells[:count]]
