"""The concepts that the definition and the name of a concept mention.

A definition usually names the genus first (*a small tree that bears cherries*), which the paper
uses as "first word, first sense" (Section 5.2.3). A name may end in its genus: *cherry tree*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from taxoexpan.config import Config
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import STOP_WORDS
from taxoexpan.taxonomy.names import name_key, normalize_name, words_key

MAX_NAME_WORDS = 3
"""The longest name, in words, that is searched for in a definition."""
MIN_WORD_LENGTH = 2
"""The shortest first word of a name; *a* is a letter and a unit, but definitions rarely mean it."""
MAX_SENSES = 6
"""The largest number of concepts that one mentioned name stands for."""
MIN_DEFINED = 0.1
"""The least fraction of concepts with a definition at which mentions are used by default."""


class MentionKind(IntEnum):
    """The kind of a mention; even numbers are a name's likeliest sense, odd ones any other."""

    FIRST_IN_DEFINITION = 0
    FIRST_OTHER_SENSE = 1
    SECOND_IN_DEFINITION = 2
    SECOND_OTHER_SENSE = 3
    NAME_ENDING = 4
    NAME_ENDING_OTHER_SENSE = 5
    SAME_NAME = 6

    @property
    def is_other_sense(self) -> bool:
        """Whether a more likely sense of the same name exists."""
        return self % 2 == 1

    @property
    def likeliest_sense(self) -> MentionKind:
        """The same kind of mention with the most likely sense."""
        return MentionKind(self - self % 2)

    @property
    def description(self) -> str:
        """The kind in words."""
        description = _DESCRIPTIONS[self.likeliest_sense]
        return f"{description}, in another sense" if self.is_other_sense else description


_DESCRIPTIONS = {
    MentionKind.FIRST_IN_DEFINITION: "the first concept that the definition mentions",
    MentionKind.SECOND_IN_DEFINITION: "the second concept that the definition mentions",
    MentionKind.NAME_ENDING: "the end of the label",
    MentionKind.SAME_NAME: "the whole label",
}


@dataclass(frozen=True)
class Mentions:
    """The concepts `of_row.of(i)` that each row i mentions, once per kind of mention."""

    of_row: Adjacency
    kinds: Indices

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[tuple[int, int]]]) -> Mentions:
        """Create from the (concept, kind) pairs of each row."""
        flat = [pair for row in rows for pair in row]
        targets, kinds = np.array(flat, dtype=np.int64).reshape(-1, 2).T
        offsets = np.cumsum([0, *(len(row) for row in rows)])
        return cls(Adjacency(offsets, np.ascontiguousarray(targets)), np.ascontiguousarray(kinds))

    def __len__(self) -> int:
        return len(self.of_row)

    def of_many(self, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the position in `rows`, the concept and the kind of each mention of rows."""
        entries = Adjacency(self.of_row.offsets, np.arange(len(self.kinds)))
        positions, found = entries.of_many(rows)
        return positions, self.of_row.targets[found], self.kinds[found]

    def select(self, rows: Indices) -> Mentions:
        """Return the mentions of these rows."""
        positions, concepts, kinds = self.of_many(rows)
        return Mentions(Adjacency.from_pairs(positions, concepts, len(rows)), kinds)

    def reindex(self, new_index: Indices, rows: Indices) -> Mentions:
        """Return these rows' mentions of concepts i with a new index `new_index[i]` >= 0."""
        positions, concepts, kinds = self.of_many(rows)
        kept = new_index[concepts] >= 0
        of_row = Adjacency.from_pairs(positions[kept], new_index[concepts[kept]], len(rows))
        return Mentions(of_row, kinds[kept])


_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+|[^\s\w]")


def resolve_mentions(config: Config, taxonomy: Taxonomy) -> Config:
    """Return the settings with `use_mentions` decided by the taxonomy, if it is not set."""
    if config.use_mentions != "auto":
        return config
    enough = len(taxonomy.definitions) >= max(1, MIN_DEFINED * len(taxonomy))
    return config.model_copy(update={"use_mentions": enough})


class Lexicon:
    """The indices of the concepts that each name refers to, the most likely sense first."""

    def __init__(self, senses: Mapping[str, Sequence[int]]) -> None:
        self.senses = senses

    @cached_property
    def longest_name(self) -> int:
        """The number of words of the longest name."""
        return max((key.count(" ") for key in self.senses), default=0) + 1

    @classmethod
    def from_taxonomy(
        cls, taxonomy: Taxonomy, order: Mapping[str, Sequence[str]] | None = None
    ) -> Lexicon:
        """Collect all labels and synonyms; `order` maps names to the ids of their senses.

        Other senses are sorted: labels before synonyms, then by the number of children.
        """
        degrees = taxonomy.children_of.degrees.tolist()
        ranks: dict[str, dict[int, tuple[bool, int]]] = {}
        for index, concept in enumerate(taxonomy.concepts):
            for position, name in enumerate((concept.label, *concept.synonyms)):
                rank = (position > 0, -degrees[index])
                ranks.setdefault(name_key(name), {}).setdefault(index, rank)
        senses = {key: sorted(found, key=found.__getitem__) for key, found in ranks.items()}
        for name, ids in (order or {}).items():
            first = [taxonomy.index(id) for id in ids if id in taxonomy]
            senses[name_key(name)] = list(dict.fromkeys([*first, *senses.get(name_key(name), ())]))
        return cls(senses)

    def mentions(self, concepts: Iterable[Concept], exclude_self: bool = False) -> Mentions:
        """Return the concepts that each concept mentions, optionally without itself."""
        rows = [
            [
                (target, kind)
                for target, kind in self.mentioned_by(concept)
                if not (exclude_self and target == row)
            ]
            for row, concept in enumerate(concepts)
        ]
        return Mentions.from_rows(rows)

    def mentioned_by(self, concept: Concept) -> list[tuple[int, MentionKind]]:
        """Return the concepts that one concept mentions, with the kinds of the mentions."""
        words = normalize_name(concept.label).split()
        own_key = words_key(words)
        first, second, *_ = [*self._named_in(concept.definition, own_key), (), ()]
        starts = range(max(1, len(words) - self.longest_name), len(words))
        endings = (self.senses.get(words_key(words[start:])) for start in starts)
        ending = next((senses for senses in endings if senses), ())
        pairs = []
        for senses, likeliest, other in (
            (first, MentionKind.FIRST_IN_DEFINITION, MentionKind.FIRST_OTHER_SENSE),
            (second, MentionKind.SECOND_IN_DEFINITION, MentionKind.SECOND_OTHER_SENSE),
            (ending, MentionKind.NAME_ENDING, MentionKind.NAME_ENDING_OTHER_SENSE),
            (self.senses.get(own_key, ()), MentionKind.SAME_NAME, MentionKind.SAME_NAME),
        ):
            pairs += [(target, likeliest) for target in senses[:1]]
            pairs += [(target, other) for target in senses[1:MAX_SENSES]]
        return pairs

    def _named_in(self, definition: str, own_key: str) -> Iterator[Sequence[int]]:
        """Yield the senses of a definition's names; only the last adjacent name counts."""
        tokens = [normalize_name(token) for token in _TOKEN.findall(definition)]
        last: Sequence[int] = ()
        start = 0
        while start < len(tokens):
            length, senses = self._longest_name(tokens, start, own_key)
            if last and not senses:
                yield last
            last = senses
            start = start + length
        if last:
            yield last

    def _longest_name(
        self, tokens: Sequence[str], start: int, own_key: str
    ) -> tuple[int, Sequence[int]]:
        """Return the length and senses of the longest name at a position, or (1, ())."""
        for length in range(min(MAX_NAME_WORDS, len(tokens) - start), 0, -1):
            words = tokens[start : start + length]
            if not STOP_WORDS.isdisjoint((words[0], words[-1])) or len(words[0]) < MIN_WORD_LENGTH:
                continue
            key = words_key(words)
            senses = self.senses.get(key)
            if senses and key != own_key:
                return length, senses
        return 1, ()
