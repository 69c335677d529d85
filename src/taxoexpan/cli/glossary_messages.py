"""Messages about the definitions that were looked up in a glossary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.features.glossary.glossary import Glossary, GlossaryMatches


def print_glossary(path: Path, glossary: Glossary, matches: Mapping[str, GlossaryMatches]) -> None:
    """Print how many concepts got a definition, by the plural noun for each group of concepts."""
    broken = glossary.broken
    if broken.count:
        lines = pluralize(broken.count, "line")
        note(f"note: {path}, line {broken.first}: not an entry; {lines} skipped in all")
    groups = [_group(noun, each) for noun, each in matches.items() if each.concepts]
    note(f"glossary: definitions for {' and '.join(groups)}")


def _group(noun: str, matches: GlossaryMatches) -> str:
    """Return how many of a group of concepts got a definition, and how they were found."""
    found, without = matches.found.total(), matches.concepts - matches.defined_before
    text = f"{found:,} of {without:,} {noun}"
    if matches.defined_before:
        text += " without one"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(matches.found.items()))
    senses = ""
    if matches.ambiguous:
        senses = f"{matches.ambiguous:,} with several senses"
    if matches.unclear:
        senses += f", {matches.unclear:,} of them unclear and left out"
    details = "; ".join(filter(None, (kinds, senses)))
    return f"{text} ({details})" if details else text
