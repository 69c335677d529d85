"""A glossary: the entries of a file that define given concepts, and the choice among them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property, partial
from pathlib import Path

from taxoexpan.features.corpus.sentences import split_sentences
from taxoexpan.features.glossary.glossary_file import BrokenLines, GlossaryEntry, read_entries
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import name_key, normalize_name, words_key

MAX_TEXT_LENGTH = 1000
"""The characters of a text that are kept; definitions are shorter."""

MIN_WORDS = 4
"""The fewest words of a sentence that is a definition."""

_ABBREVIATION = re.compile(
    r"""[(["']*(?:approx|bros|ca|dr|ed|esp|est|gen|gov|hon|jr|lat|lit|mr|mrs|ms|mt|nos?|pl|prof|"""
    r"""pron|rev|sen|sgt|sr|st|vol)\.""",
    re.IGNORECASE,
)

_LIST_PAGE = re.compile(r"#redirect\b|.*:$|.*\b(?:may|can|could) (?:also )?refer to\b", re.I)
MARGIN = 1.2
"""How many times as well as any other the best sense has to fit."""
MAX_SENSES = 50
"""The most texts that are kept for one name."""


def article_text(title: str, text: str) -> str:
    """Return an article's start as one line, or an empty string if it introduces a list."""
    first, _, rest = text.strip().partition("\n")
    if rest and normalize_name(first) == normalize_name(title):
        text = rest.strip()
        first = text.partition("\n")[0]
    if _LIST_PAGE.match(first.strip()):
        return ""
    return " ".join(text[: 2 * MAX_TEXT_LENGTH].split())[:MAX_TEXT_LENGTH]


def first_sentence(text: str) -> str:
    """Return the first sentence; abbreviations, initials and parentheses do not end it."""
    sentence = ""
    for part in split_sentences(text):
        sentence = f"{sentence} {part}".strip()
        if _is_complete(sentence):
            return sentence
    return next(iter(split_sentences(text)), "") if sentence.count("(") else sentence


def _is_complete(sentence: str) -> bool:
    words = sentence.split()
    return (
        len(words) >= MIN_WORDS
        and sentence.count("(") <= sentence.count(")")
        and not _ABBREVIATION.fullmatch(words[-1])
    )


_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a name: *Mercury (planet)* is `mercury` with the qualifier `planet`."""

    name: str
    qualifier: str
    text: str


def content_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text in the singular, without stop words."""
    words = _WORD.findall(normalize_name(text))
    return frozenset(singular(word) for word in words if word not in STOP_WORDS)


class SenseSelector:
    """A comparison of texts with the labels of a taxonomy, by their shared words."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._words = cache(lambda index: content_words(taxonomy.labels[index]))
        below = taxonomy.children_of
        self._child_words = cache(
            lambda index: frozenset().union(*map(self._words, below.of(index).tolist()))
        )

    @cached_property
    def frequency(self) -> Counter[str]:
        """The number of labels that contain each word."""
        return Counter(word for i in range(len(self._taxonomy)) for word in self._words(i))

    def for_concept(self, index: int, senses: Sequence[Sense]) -> Sense | None:
        """Return the sense that fits the neighbors of a known concept; rare words count more."""
        parents = self._taxonomy.parents_of.of(index).tolist()
        groups = [self._child_words(index)]
        groups += [
            words(parent) for parent in parents for words in (self._words, self._child_words)
        ]
        size = len(self._taxonomy)

        def weight(word: str) -> float:
            near = any(word in group for group in groups)
            return math.log((1 + size) / self.frequency[word]) if near else 0.0

        return _select(senses, weight)

    def for_new(self, senses: Sequence[Sense]) -> Sense | None:
        """Return the sense that fits the taxonomy's vocabulary; frequent words count more."""
        return _select(senses, lambda word: math.log1p(self.frequency[word]))


def _select(senses: Sequence[Sense], weight: Callable[[str], float]) -> Sense | None:
    """Return the clearly best sense, or else the only title without parentheses."""
    if len(senses) == 1:
        return senses[0]
    fits = [_fit(sense, weight) for sense in senses]
    second, best = sorted(fits)[-2:]
    if best > MARGIN * second:
        return senses[fits.index(best)]
    plain = [sense for sense in senses if not sense.qualifier]
    return plain[0] if len(plain) == 1 else None


def _fit(sense: Sense, weight: Callable[[str], float]) -> float:
    """Return the weight of a sense's words, except its name, over the root of their number."""
    words = content_words(f"{sense.qualifier} {sense.text}") - content_words(sense.name)
    return sum(map(weight, words)) / math.sqrt(max(1, len(words)))


_QUALIFIER = re.compile(r"(.*\S) ?\(([^()]+)\)")


class MatchKind(StrEnum):
    """The way in which a title matches a concept."""

    EXACT = "exact"
    PLURAL = "plural"
    SYNONYM = "synonym"


@dataclass
class GlossaryMatches:
    """The numbers of concepts with and without definitions, and of ambiguous names."""

    concepts: int = 0
    defined_before: int = 0
    found: Counter[MatchKind] = field(default_factory=Counter)
    ambiguous: int = 0
    unclear: int = 0


@dataclass(frozen=True)
class DefinedTaxonomy:
    """A taxonomy with definitions from a glossary, and their counts."""

    taxonomy: Taxonomy
    matches: GlossaryMatches


@dataclass(frozen=True)
class DefinedConcepts:
    """Concepts with definitions from a glossary, and their counts."""

    concepts: tuple[Concept, ...]
    matches: GlossaryMatches


class Glossary:
    r"""The senses of names, by name without plural ending (`name_key`).

    Examples:
        >>> from pathlib import Path
        >>> from taxoexpan import Concept, Glossary
        >>> _ = Path("glossary.tsv").write_text("lyre\ta small harp of ancient Greece\n")
        >>> glossary = Glossary.read("glossary.tsv", [Concept("1", "Lyres")])
        >>> [sense.text for sense in glossary.senses["lyre"]]
        ['a small harp of ancient Greece']
    """

    def __init__(self, senses: dict[str, list[Sense]], broken: BrokenLines) -> None:
        self.senses = senses
        self.broken = broken

    @classmethod
    def read(
        cls, path: str | Path, concepts: Iterable[Concept], progress: bool = False
    ) -> Glossary:
        """Read the entries that may define a concept from TSV or JSON lines.

        Only these entries are kept in memory, so the file can be large.
        """
        wanted: dict[str, list[Sense]] = {}
        for concept in concepts:
            if not concept.definition:
                for name in (concept.label, *concept.synonyms):
                    wanted[name_key(name)] = []
        wanted.pop("", None)
        broken = BrokenLines()
        for entry in read_entries(Path(path), broken, progress):
            _keep(entry, wanted)
        return cls({key: senses for key, senses in wanted.items() if senses}, broken)

    def define_taxonomy(self, taxonomy: Taxonomy) -> DefinedTaxonomy:
        """Add missing definitions to a taxonomy, with senses that fit a concept's neighbors."""
        selector = SenseSelector(taxonomy)
        matches = GlossaryMatches()
        found = {}
        for index, concept in enumerate(taxonomy.concepts):
            select = partial(selector.for_concept, index)
            if definition := self._look_up(concept, select, matches):
                found[index] = definition
        return DefinedTaxonomy(taxonomy.with_definitions(found), matches)

    def define_concepts(self, concepts: Iterable[Concept], taxonomy: Taxonomy) -> DefinedConcepts:
        """Add missing definitions to new concepts, with senses that fit the taxonomy."""
        selector = SenseSelector(taxonomy)
        matches = GlossaryMatches()
        defined = []
        for concept in concepts:
            definition = self._look_up(concept, selector.for_new, matches)
            defined.append(replace(concept, definition=definition) if definition else concept)
        return DefinedConcepts(tuple(defined), matches)

    def _look_up(
        self,
        concept: Concept,
        select: Callable[[Sequence[Sense]], Sense | None],
        matches: GlossaryMatches,
    ) -> str:
        """Return the definition of a concept, or an empty string, and count the match."""
        matches.concepts += 1
        if concept.definition:
            matches.defined_before += 1
            return ""
        kind, senses = self._senses_of(concept)
        if not senses:
            return ""
        matches.ambiguous += len(senses) > 1
        sense = select(senses)
        if sense is None:
            matches.unclear += 1
            return ""
        matches.found[kind] += 1
        return first_sentence(sense.text)

    def _senses_of(self, concept: Concept) -> tuple[MatchKind, Sequence[Sense]]:
        """Return the senses of the label, or else of the first synonym that has any."""
        for name in (concept.label, *concept.synonyms):
            normalized = normalize_name(name)
            senses = self.senses.get(name_key(name), [])
            exact = [sense for sense in senses if sense.name == normalized]
            if senses and name is not concept.label:
                return MatchKind.SYNONYM, exact or senses
            if senses:
                return (MatchKind.EXACT, exact) if exact else (MatchKind.PLURAL, senses)
        return MatchKind.EXACT, ()


def _keep(entry: GlossaryEntry, wanted: dict[str, list[Sense]]) -> None:
    """Add an entry to the senses of the wanted names that its title matches."""
    title = normalize_name(entry.title)
    names = [(title, "")]
    qualified = _QUALIFIER.fullmatch(title)
    if qualified:
        names.append((qualified[1], qualified[2]))
    for name, qualifier in names:
        senses = wanted.get(words_key(name.split()))
        if senses is None or len(senses) >= MAX_SENSES or qualifier == "disambiguation":
            continue
        text = article_text(entry.title, entry.text)
        if text and all(text != sense.text for sense in senses):
            senses.append(Sense(name, qualifier, text))


@dataclass(frozen=True)
class LookedUpDefinitions:
    """The taxonomy and the new concepts with definitions from a glossary, and their counts."""

    taxonomy: Taxonomy
    new: Sequence[Concept]
    glossary: Glossary
    taxonomy_matches: GlossaryMatches
    new_matches: GlossaryMatches


def look_up_definitions(
    path: Path, taxonomy: Taxonomy, new: Sequence[Concept] = (), progress: bool = False
) -> LookedUpDefinitions:
    """Add definitions from a glossary to the concepts of a taxonomy and to new concepts."""
    glossary = Glossary.read(path, [*taxonomy.concepts, *new], progress)
    known = glossary.define_taxonomy(taxonomy)
    queries = glossary.define_concepts(new, taxonomy)
    return LookedUpDefinitions(
        known.taxonomy, queries.concepts, glossary, known.matches, queries.matches
    )
