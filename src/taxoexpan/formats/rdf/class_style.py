"""How an ontology describes its classes, so that new classes are described alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import pyoxigraph as ox

from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.languages import Languages
from taxoexpan.formats.rdf.owl_index import CLASS_TYPES, DEFINITIONS, INHERITED, OwlIndex
from taxoexpan.formats.rdf.statements import Statements
from taxoexpan.formats.rdf.vocabulary import OBO_SYNONYMS
from taxoexpan.formats.text_file import TextFile

_SAMPLE_SIZE = 50_000
"""How many statements are read to find the order of the properties."""
_MOST = 0.8
"""A property that this share of the classes has belongs to the style of the file."""


@dataclass(frozen=True)
class TextProperty:
    """A property for texts, and the language tag of its values."""

    iri: str
    language: str


@dataclass(frozen=True)
class ClassStyle:
    """The types and properties that most classes of a file have."""

    types: Sequence[str]
    label: TextProperty
    synonym: TextProperty
    definition: TextProperty
    inherited: Sequence[str]
    """The inherited properties that most classes have."""
    has_obo_ids: bool
    property_order: Sequence[str] = ()
    """The properties of a typical class, in the order of the file."""

    @classmethod
    def of(cls, source: TextFile, index: OwlIndex) -> ClassStyle:
        """Find the style of a file."""
        languages = index.languages(source)
        described = [id for id in index.concepts if id in index.described]
        labelled = [id for id in described if index.labels(id)] or described

        def text_property(iri: str) -> TextProperty:
            return TextProperty(iri, _language(index, languages, iri))

        return cls(
            _types(index, labelled),
            text_property(index.label_properties[0]),
            text_property(_synonym_property(index)),
            text_property(_definition_property(index)),
            [each for each in INHERITED if _is_usual(index.inherited.get(each, {}), labelled)],
            index.obo_ids > 0 and index.obo_ids >= _MOST * len(labelled),
            _property_order(source, index),
        )

    def sorted(self, triples: Iterable[ox.Triple]) -> list[ox.Triple]:
        """Return triples in the order of the file; a type is first, and other properties last."""
        places = {iri: place for place, iri in enumerate(self.property_order)}
        places[vocabulary.TYPE] = -1
        return sorted(triples, key=lambda each: places.get(each.predicate.value, len(places)))


def new_file_style(language: str) -> ClassStyle:
    """Return the style of a new file with texts in this language."""
    label, synonym, definition = (
        TextProperty(iri, language)
        for iri in (vocabulary.RDFS_LABEL, vocabulary.ALT_LABEL, vocabulary.DEFINITION)
    )
    return ClassStyle([vocabulary.OWL_CLASS], label, synonym, definition, [], has_obo_ids=False)


def _property_order(source: TextFile, index: OwlIndex) -> list[str]:
    """Return the properties of the class that has most of them, near the start of the file."""
    longest: list[str] = []
    sample = islice(Statements(source), _SAMPLE_SIZE)
    for subject, quads in groupby(sample, lambda quad: quad.subject):
        if isinstance(subject, ox.NamedNode) and subject.value in index.described:
            order = list(dict.fromkeys(quad.predicate.value for quad in quads))
            longest = max(longest, order, key=len)
    return longest


def _is_usual(subjects: Container[str], classes: Sequence[str]) -> bool:
    """Return whether most of the classes are among the subjects of a property."""
    return bool(classes) and sum(id in subjects for id in classes) >= _MOST * len(classes)


def _types(index: OwlIndex, classes: Sequence[str]) -> list[str]:
    """Return the types that most classes have, or else the most frequent kind of class."""
    counts = Counter(type for id in classes for type in dict.fromkeys(index.types.get(id, [])))
    usual = [type for type, count in counts.items() if count >= _MOST * len(classes)]
    if any(type in CLASS_TYPES for type in usual):
        return usual
    return [*usual, max(CLASS_TYPES, key=lambda type: counts[type])]


def _synonym_property(index: OwlIndex) -> str:
    """Return the property for synonyms that the file uses most, or else `skos:altLabel`."""
    uses = {
        vocabulary.ALT_LABEL: len(index.texts[vocabulary.ALT_LABEL]),
        vocabulary.EXACT_SYNONYM: sum(len(index.texts[kind]) for kind in OBO_SYNONYMS),
        vocabulary.OBO_SYNONYM: len(index.texts[vocabulary.OBO_SYNONYM]),
    }
    return max(uses, key=lambda property: uses[property])


def _definition_property(index: OwlIndex) -> str:
    """Return the property for definitions that most classes have; a comment is the last choice."""
    uses = {each: len(index.texts[each].keys() & index.concepts) for each in DEFINITIONS[:-1]}
    best = max(uses, key=lambda property: uses[property])
    return best if uses[best] else vocabulary.COMMENT


def _language(index: OwlIndex, languages: Languages, property: str) -> str:
    """Return the tag for new values of a property: the one of its values that fits the labels."""
    kinds = OBO_SYNONYMS if property in OBO_SYNONYMS else (property,)
    used = Counter(tag for kind in kinds for tag in _tags(index, kind))
    fitting = [tag for tag in used if not languages.is_foreign(tag) or not languages.chosen]
    rank = languages.rank
    return min(fitting, key=lambda tag: (rank(tag), -used[tag], tag), default=languages.tag)


def _tags(index: OwlIndex, property: str) -> Iterator[str]:
    """Yield the language tags of the values of a property."""
    for id, texts in index.texts[property].items():
        if id in index.concepts:
            yield from (tag for tag, _ in texts)
