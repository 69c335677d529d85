"""Which concepts a definition names first: the genus, as in *a small tree that bears cherries*.

The paper's first word, first sense (Section 5.2.3), for any taxonomy with definitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from taxoexpan.adjacency import Adjacency
from taxoexpan.discovery.words import STOP_WORDS
from taxoexpan.lint.similarity import singular
from taxoexpan.naming import fold_name
from taxoexpan.taxonomy import Concept, Taxonomy

LONGEST = 3
"""Words of a name that is looked for in a definition."""

SHORTEST = 2
"""Letters of a word that can name something; *a* is a letter and a unit, but hardly ever meant."""

_PIECE = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+|[^\s\w]")


class Lexicon:
    """The concepts that each name stands for, by their indices, the likeliest sense first."""

    def __init__(self, senses: Mapping[str, Sequence[int]]) -> None:
        self.senses = senses

    @classmethod
    def of(cls, taxonomy: Taxonomy, order: Mapping[str, Sequence[str]] | None = None) -> Lexicon:
        """All labels and synonyms; `order` has the ids that a name stands for, sense by sense.

        What it does not order comes by whether the name is a concept's label, then by the number
        of children: the common sense of a word has more below it.
        """
        degrees = taxonomy.children_of.degrees.tolist()
        found: dict[str, dict[int, tuple[int, int]]] = {}
        for index, concept in enumerate(taxonomy.concepts):
            for place, name in enumerate((concept.label, *concept.synonyms)):
                rank = (min(place, 1), -degrees[index])
                found.setdefault(_key(name), {}).setdefault(index, rank)
        senses = {key: sorted(ranks, key=ranks.__getitem__) for key, ranks in found.items()}
        for name, ids in (order or {}).items():
            first = [taxonomy.index(id) for id in ids if id in taxonomy]
            senses[_key(name)] = list(dict.fromkeys([*first, *senses.get(_key(name), ())]))
        return cls(senses)

    def first_named(self, definition: str) -> Sequence[int]:
        """The senses of what a definition names first.

        In a run of names the last one counts: a *stem cell* is a cell where no concept has the
        whole name, and a *hoof infection* an infection.
        """
        pieces = [fold_name(piece) for piece in _PIECE.findall(definition)]
        head: Sequence[int] = ()
        start = 0
        while start < len(pieces):
            length, senses = self._longest(pieces, start)
            if not senses and head:
                break
            head, start = senses or head, start + length
        return head

    def named_by(self, concepts: Iterable[Concept], known: bool = False) -> Adjacency:
        """For each concept the senses of what its definition names first.

        The `known` are the taxonomy's own, in its order, and none is named by itself.
        """
        rows: list[int] = []
        targets: list[int] = []
        concepts = list(concepts)
        for row, concept in enumerate(concepts):
            for target in self.first_named(concept.definition) if concept.definition else ():
                if not (known and target == row):
                    rows.append(row)
                    targets.append(target)
        return Adjacency.from_pairs(
            np.array(rows, dtype=np.int64), np.array(targets, dtype=np.int64), len(concepts)
        )

    def _longest(self, pieces: Sequence[str], start: int) -> tuple[int, Sequence[int]]:
        """How many words from here name something, and what; one word that names nothing."""
        for length in range(min(LONGEST, len(pieces) - start), 0, -1):
            words = pieces[start : start + length]
            if not STOP_WORDS.isdisjoint((words[0], words[-1])) or len(words[0]) < SHORTEST:
                continue
            senses = self.senses.get(_joined(words))
            if senses:
                return length, senses
        return 1, ()


def _key(name: str) -> str:
    """A name without case, and without the plural of its last word."""
    return _joined(fold_name(name).split())


def _joined(words: Sequence[str]) -> str:
    return " ".join([*words[:-1], *map(singular, words[-1:])])
