"""The OWL format: the named classes of an OWL or RDFS ontology, in any RDF syntax.

Extending a file adds triples and changes none, except the superclasses of classes that move.
Restrictions, equivalent classes and all other axioms stay unchanged.
"""

from __future__ import annotations

from functools import partial

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy
from taxoexpan.formats.format import Copy, Insertions, Target
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.rdf import graph_format, serialization, vocabulary
from taxoexpan.formats.rdf.class_style import ClassStyle, new_file_style
from taxoexpan.formats.rdf.graph_format import RdfFormat
from taxoexpan.formats.rdf.moved_links import move_links
from taxoexpan.formats.rdf.owl_additions import class_triples, new_triples, refuse_annotated_moves
from taxoexpan.formats.rdf.owl_index import OwlIndex
from taxoexpan.formats.rdf.predicates import index_predicates
from taxoexpan.formats.rdf.skos_index import SkosIndex
from taxoexpan.formats.rdf.statements import detect_syntax, target_syntax
from taxoexpan.formats.rdf.tag_case import respelled, target_spellings
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.ids import numbered

_SKOS_WORDS = ("Concept", "broader", "narrower")
"""A file without any of these is not SKOS, so that it need not be parsed to find out."""


class OwlFormat(RdfFormat):
    """Named classes and their named superclasses."""

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is RDF with more relations between classes than in SKOS."""
        if detect_syntax(source) is None or "Class" not in source.text:
            return False
        if not any(map(source.text.__contains__, _SKOS_WORDS)):
            return True
        counts = source.parsed(SkosIndex.read)
        relations = counts.predicate_counts[vocabulary.SUBCLASS_OF]
        if not relations and not counts.relations:
            return not counts.concepts
        return relations > len(counts.relations)

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every named class with its labels in one language, and its named superclasses."""
        index = source.parsed(OwlIndex.read)
        if not index.concepts:
            message = "no owl:Class or rdfs:Class with an IRI in the file; for SKOS, give skos"
            raise FormatError(source.path, message, option="format")
        builder = graph_format.read_concepts(source, index)
        counts = index.predicate_counts
        if counts[vocabulary.BROADER] + counts[vocabulary.NARROWER]:
            message = "the file also relates SKOS concepts, which are not read"
            hint = "for them read the format skos"
            builder.notes.append(Note(0, f"{message}; {hint}", "other-vocabulary"))
        return graph_format.finish(source, builder)

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add the triples of the new classes, in the style of the file."""
        index = source.parsed(OwlIndex.read)
        graph_format.refuse_invalid_ids(source, additions)
        refuse_annotated_moves(source, additions.moves)
        insertions, _ = move_links(source, additions.moves, vocabulary.SUBCLASS_OF)
        style = ClassStyle.of(source, index)
        triples = style.sorted(new_triples(index, style, expanded, additions))
        insertions += serialization.insert_triples(source, index.prefixes, triples)
        return {source.path: insertions}

    def index_properties(self, source: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Return which predicates the concepts of a file have."""
        return index_predicates(source.parsed(OwlIndex.read), taxonomy)

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new ontology; ids that are not IRIs are turned into IRIs."""
        ids = graph_format.iris(taxonomy, target)
        used = set(ids.values())
        ontology = next(iri for iri in numbered(target.base + "ontology") if iri not in used)
        triples = [vocabulary.link(ontology, vocabulary.TYPE, vocabulary.ONTOLOGY)]
        style = new_file_style(target.language)
        for concept in taxonomy.concepts:
            parents = [ids[parent] for parent in taxonomy.parents(concept.id)]
            tag = partial(target.tag, concept.id)
            triples += class_triples(ids[concept.id], concept, style, parents, tag)
        prefixes = {**vocabulary.PREFIXES, "rdfs": vocabulary.RDFS}
        syntax = target_syntax(target)
        text = serialization.serialize(triples, syntax, prefixes)
        return Copy({target.path: respelled(text, target_spellings(target), syntax)}, ids)
