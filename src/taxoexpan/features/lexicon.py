"""Which concepts a new concept's definition and its own name mention.

A definition names the genus first: *a small tree that bears cherries*. That is the paper's first
word, first sense (Section 5.2.3), here for any taxonomy and by its own names. A name may end in its
genus: *cherry tree*. And what has a concept's whole name already is another thing of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from taxoexpan.features.mentions import END, FIRST, SAME, SECOND, Mentions
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.english import STOP_WORDS
from taxoexpan.taxonomy.names import _joined, name_key, normalize_name

LONGEST = 3
"""Words of a name that is looked for in a definition."""

SHORTEST = 2
"""Letters of a word that can name something; *a* is a letter and a unit, but hardly ever meant."""

MOST_SENSES = 6
"""Of the concepts of one name no more count than these."""

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
                found.setdefault(name_key(name), {}).setdefault(index, rank)
        senses = {key: sorted(ranks, key=ranks.__getitem__) for key, ranks in found.items()}
        for name, ids in (order or {}).items():
            first = [taxonomy.index(id) for id in ids if id in taxonomy]
            senses[name_key(name)] = list(dict.fromkeys([*first, *senses.get(name_key(name), ())]))
        return cls(senses)

    def mentions(self, concepts: Iterable[Concept], known: bool = False) -> Mentions:
        """What each concept mentions; the `known` are the taxonomy's own, none of them itself."""
        rows = [
            [
                (target, kind)
                for target, kind in self.mentioned_by(concept)
                if not (known and target == row)
            ]
            for row, concept in enumerate(concepts)
        ]
        return Mentions.from_rows(rows)

    def mentioned_by(self, concept: Concept) -> list[tuple[int, int]]:
        """The concepts that one mentions, each with the kind of mention."""
        words = normalize_name(concept.label).split()
        own = _joined(words)
        named = list(self._named_in(concept.definition, own))[:2]
        ends = (self.senses.get(_joined(words[start:])) for start in range(1, len(words)))
        found = dict(zip((FIRST, SECOND), named, strict=False))
        found[END] = next((end for end in ends if end), ())
        pairs = [
            (target, kind + min(place, 1))
            for kind, senses in found.items()
            for place, target in enumerate(senses[:MOST_SENSES])
        ]
        return pairs + [(target, SAME) for target in self.senses.get(own, ())[:MOST_SENSES]]

    def _named_in(self, definition: str, own: str) -> Iterator[Sequence[int]]:
        """The senses of the things that a definition names, one after another, but not its `own`.

        In a run of names the last one counts: a *stem cell* is a cell where no concept has the
        whole name, and a *hoof infection* an infection.
        """
        pieces = [normalize_name(piece) for piece in _PIECE.findall(definition)]
        head: Sequence[int] = ()
        start = 0
        while start < len(pieces):
            length, senses = self._longest(pieces, start, own)
            if not senses and head:
                yield head
            head, start = senses, start + length
        if head:
            yield head

    def _longest(self, pieces: Sequence[str], start: int, own: str) -> tuple[int, Sequence[int]]:
        """How many words from here name something, and what; one word that names nothing."""
        for length in range(min(LONGEST, len(pieces) - start), 0, -1):
            words = pieces[start : start + length]
            if not STOP_WORDS.isdisjoint((words[0], words[-1])) or len(words[0]) < SHORTEST:
                continue
            key = _joined(words)
            senses = self.senses.get(key) if key != own else None
            if senses:
                return length, senses
        return 1, ()
