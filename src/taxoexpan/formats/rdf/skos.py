"""The SKOS format: concepts with labels in several languages, in any RDF syntax.

Extending a file adds triples and changes none, except the links of children that move. Collections,
mappings and other content of a vocabulary stay unchanged.
"""

from __future__ import annotations

from functools import partial

from taxoexpan.formats.builder import Note, ParsedTaxonomy
from taxoexpan.formats.format import Copy, Insertions, Target
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.rdf import graph_format, serialization, vocabulary
from taxoexpan.formats.rdf.graph_format import RdfFormat
from taxoexpan.formats.rdf.graph_index import is_blank_node
from taxoexpan.formats.rdf.moved_links import move_links
from taxoexpan.formats.rdf.predicates import index_predicates
from taxoexpan.formats.rdf.skos_additions import concept_triples, new_triples
from taxoexpan.formats.rdf.skos_index import SkosIndex
from taxoexpan.formats.rdf.statements import detect_syntax, target_syntax
from taxoexpan.formats.rdf.tag_case import respelled, target_spellings
from taxoexpan.formats.rdf.vocabulary import link
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.ids import numbered


class SkosFormat(RdfFormat):
    """SKOS concepts and their broader and narrower links."""

    parent_predicate = "skos:broader"

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is RDF."""
        return detect_syntax(source) is not None

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every concept with its labels in one language, and all links between them."""
        index = source.parsed(SkosIndex.read)
        builder = graph_format.read_concepts(source, index)
        for id in filter(is_blank_node, index.concepts):
            message = "a concept without an IRI has no id; it is skipped"
            builder.notes.append(Note(0, message, "blank-node", id))
        return graph_format.finish(source, builder)

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add the triples of the new concepts, in the style of the file."""
        index = source.parsed(SkosIndex.read)
        language = index.languages(source).tag
        graph_format.refuse_invalid_ids(source, additions)
        moves = additions.moves
        insertions, narrower = move_links(source, moves, vocabulary.BROADER, vocabulary.NARROWER)
        triples = [
            *new_triples(index, language, expanded, additions, narrower),
            *(
                vocabulary.text(id, vocabulary.ALT_LABEL, name, language)
                for id, name in additions.synonyms
            ),
        ]
        insertions += serialization.insert_triples(source, index.prefixes, triples)
        return {source.path: insertions}

    def index_properties(self, source: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Return which predicates the concepts of a file have."""
        return index_predicates(source.parsed(SkosIndex.read), taxonomy)

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new vocabulary with one scheme; ids that are not IRIs are turned into IRIs."""
        ids = graph_format.iris(taxonomy, target)
        used = set(ids.values())
        scheme = next(iri for iri in numbered(target.base + "scheme") if iri not in used)
        triples = [link(scheme, vocabulary.TYPE, vocabulary.SCHEME)]
        for concept in taxonomy.concepts:
            id, parents = ids[concept.id], taxonomy.parents(concept.id)
            triples += concept_triples(id, concept, partial(target.tag, concept.id), [scheme])
            triples += [link(id, vocabulary.BROADER, ids[parent]) for parent in parents]
            if not parents:
                triples.append(link(id, vocabulary.TOP_CONCEPT_OF, scheme))
        syntax = target_syntax(target)
        text = serialization.serialize(triples, syntax, vocabulary.PREFIXES)
        return Copy({target.path: respelled(text, target_spellings(target), syntax)}, ids)
