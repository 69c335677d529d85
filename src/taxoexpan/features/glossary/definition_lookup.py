"""Looks up the definitions of a taxonomy and of new concepts in one pass over a glossary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.features.glossary.glossary import Glossary, GlossaryMatches
from taxoexpan.taxonomy import Concept, Taxonomy


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
    """Add definitions from a glossary to the concepts of a taxonomy and to new ones."""
    glossary = Glossary.read(path, [*taxonomy.concepts, *new], progress)
    known = glossary.define_taxonomy(taxonomy)
    queries = glossary.define_concepts(new, taxonomy)
    return LookedUpDefinitions(
        known.taxonomy, queries.concepts, glossary, known.matches, queries.matches
    )
