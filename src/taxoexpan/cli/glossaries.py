"""Definitions from a glossary for the concepts of a taxonomy and for new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import open_taxonomy
from taxoexpan.cli.messages import note, warn
from taxoexpan.cli.taxonomy_messages import print_language
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.features.glossary.glossary import Glossary, GlossaryMatches
    from taxoexpan.taxonomy import Concept, Taxonomy


def read_taxonomy(
    path: Path, options: ReadingOptions, glossary: Path | None = None, quiet: bool = False
) -> Taxonomy:
    """Read a taxonomy, print the notes of its reader, and look up definitions in a glossary."""
    file = open_taxonomy(path, options)
    print_language(file)
    taxonomy = file.taxonomy
    if not glossary:
        return taxonomy
    from taxoexpan.features.glossary.glossary import Glossary

    entries = Glossary.read(glossary, taxonomy.concepts, not quiet)
    defined = entries.define_taxonomy(taxonomy)
    print_glossary(glossary, entries, {"concepts": defined.matches})
    return defined.taxonomy


def defined_concepts(
    glossary: Path | None, concepts: Sequence[Concept], taxonomy: Taxonomy, quiet: bool
) -> Sequence[Concept]:
    """Return new concepts with definitions from a glossary, if there is one."""
    if not glossary:
        return concepts
    from taxoexpan.features.glossary.glossary import Glossary

    entries = Glossary.read(glossary, concepts, progress=not quiet)
    defined = entries.define_concepts(concepts, taxonomy)
    print_glossary(glossary, entries, {"new concepts": defined.matches})
    return defined.concepts


def print_glossary(path: Path, glossary: Glossary, matches: Mapping[str, GlossaryMatches]) -> None:
    """Print how many concepts of each group, named by a plural noun, got a definition."""
    broken = glossary.broken
    if broken.count:
        lines = pluralize(broken.count, "line")
        warn(f"{path}, line {broken.first}: not an entry; {lines} skipped in all")
    groups = [_group(noun, each) for noun, each in matches.items() if each.concepts]
    note(f"glossary: definitions for {' and '.join(groups)}")


def _group(noun: str, matches: GlossaryMatches) -> str:
    """Describe how many concepts of a group got a definition, and how it was found."""
    found = matches.found.total()
    without = matches.concepts - matches.defined_before
    text = f"{found:,} of {without:,} {noun}{' without one' if matches.defined_before else ''}"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(matches.found.items()))
    senses = f"{matches.ambiguous:,} with several senses" if matches.ambiguous else ""
    senses += f", {matches.unclear:,} of them unclear and left out" if matches.unclear else ""
    details = "; ".join(filter(None, (kinds, senses)))
    return f"{text} ({details})" if details else text
