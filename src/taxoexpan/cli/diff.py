"""Say what differs between two taxonomies: added, removed, relabelled, moved."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.options import add_reading, print_json, read_taxonomy

if TYPE_CHECKING:
    from taxoexpan.difference import Difference
    from taxoexpan.taxonomy import Concept


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("old", type=Path, metavar="OLD", help="a file with a taxonomy")
    parser.add_argument("new", type=Path, metavar="NEW", help="a later version, in any format")
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="the differences for a program to read")


def run(options: argparse.Namespace) -> int:
    """Print every difference; 1 when there is one, as `diff` does."""
    from taxoexpan.difference import Difference

    old, new = (read_taxonomy(path, options) for path in (options.old, options.new))
    difference = Difference(old, new)
    if options.json:
        print_json(_as_dict(difference))
    else:
        _print(difference)
    return int(bool(difference))


def _as_dict(difference: Difference) -> dict[str, Any]:
    def named(concept: Concept) -> dict[str, str]:
        return {"id": concept.id, "label": concept.label}

    return {
        "added": [named(concept) for concept in difference.added],
        "removed": [named(concept) for concept in difference.removed],
        "relabelled": [
            {"id": change.old.id, "old": change.old.label, "new": change.new.label}
            for change in difference.relabelled
        ],
        "redescribed": [named(change.new) for change in difference.redescribed],
        "moved": [
            {**named(move.concept), "left": list(move.left), "joined": list(move.joined)}
            for move in difference.moved
        ],
        "relations_added": [list(relation) for relation in difference.relations_added],
        "relations_removed": [list(relation) for relation in difference.relations_removed],
    }


def _print(difference: Difference) -> None:
    old, new = difference.old, difference.new
    for concept in difference.added:
        where = " > ".join(new.path(concept.id)[:-1]) or "the top"
        print(f"added       {concept.label} ({concept.id}) under {where}")
    for concept in difference.removed:
        where = " > ".join(old.path(concept.id)[:-1]) or "the top"
        print(f"removed     {concept.label} ({concept.id}) from {where}")
    for change in difference.relabelled:
        print(f"relabelled  {change.old.label} → {change.new.label} ({change.old.id})")
    for change in difference.redescribed:
        print(f"redescribed {change.new.label} ({change.new.id})")
    for move in difference.moved:
        left = ", ".join(old.concept(id).label for id in move.left) or "the top"
        joined = ", ".join(new.concept(id).label for id in move.joined) or "the top"
        print(f"moved       {move.concept.label} ({move.concept.id}) from {left} to {joined}")
    print(
        f"{len(difference.added):,} concepts added, {len(difference.removed):,} removed, "
        f"{len(difference.relabelled):,} relabelled, {len(difference.redescribed):,} redescribed, "
        f"{len(difference.moved):,} moved; {len(difference.relations_added):,} relations added, "
        f"{len(difference.relations_removed):,} removed"
    )
