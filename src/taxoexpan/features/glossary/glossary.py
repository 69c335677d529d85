"""A glossary: the entries of a file that define given concepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from taxoexpan.features.glossary.glossary_file import BrokenLines, GlossaryEntry, read_entries
from taxoexpan.features.glossary.sense_selection import (
    Sense,
    SenseSelector,
    article_text,
    first_sentence,
)
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import normalize_name, words_key

MAX_SENSES = 50
"""The most texts that are kept for one name."""

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
    """The senses of names, by name without plural ending (`name_key`)."""

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
                    wanted[_key(normalize_name(name))] = []
        wanted.pop("", None)
        broken = BrokenLines()
        for entry in read_entries(Path(path), broken, progress):
            _keep(entry, wanted)
        return cls({key: senses for key, senses in wanted.items() if senses}, broken)

    def define_taxonomy(self, taxonomy: Taxonomy) -> DefinedTaxonomy:
        """Add missing definitions to a taxonomy, with senses that fit a concept's neighbors."""
        selector, matches = SenseSelector(taxonomy), GlossaryMatches()
        found = {}
        for index, concept in enumerate(taxonomy.concepts):
            select = partial(selector.for_concept, index)
            if definition := self._look_up(concept, select, matches):
                found[index] = definition
        return DefinedTaxonomy(taxonomy.with_definitions(found), matches)

    def define_concepts(self, concepts: Iterable[Concept], taxonomy: Taxonomy) -> DefinedConcepts:
        """Add missing definitions to new concepts, with senses that fit the taxonomy."""
        selector, matches = SenseSelector(taxonomy), GlossaryMatches()
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
            senses = self.senses.get(_key(normalized), [])
            exact = [sense for sense in senses if sense.name == normalized]
            if senses and name is not concept.label:
                return MatchKind.SYNONYM, exact or senses
            if senses:
                return (MatchKind.EXACT, exact) if exact else (MatchKind.PLURAL, senses)
        return MatchKind.EXACT, ()


def _key(normalized: str) -> str:
    return words_key(normalized.split())


def _keep(entry: GlossaryEntry, wanted: dict[str, list[Sense]]) -> None:
    """Add an entry to the senses of the wanted names that its title matches."""
    title = normalize_name(entry.title)
    names = [(title, "")]
    qualified = _QUALIFIER.fullmatch(title)
    if qualified:
        names.append((qualified[1], qualified[2]))
    for name, qualifier in names:
        senses = wanted.get(_key(name))
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
