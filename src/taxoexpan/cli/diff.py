"""Compare two taxonomies: what was added, removed, relabeled or moved."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.arguments import add_read_options, read_taxonomy
from taxoexpan.cli.messages import print_json

if TYPE_CHECKING:
    from taxoexpan.taxonomy import Concept, Taxonomy
    from taxoexpan.taxonomy.difference import Difference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("old", type=Path, metavar="OLD", help="a taxonomy file")
    parser.add_argument("new", type=Path, metavar="NEW", help="a later version, in any format")
    add_read_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print every difference; the exit status is 1 if there is one."""
    from taxoexpan.taxonomy.difference import Difference

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
            {
                **named(move.concept),
                "left": list(move.removed_parents),
                "joined": list(move.added_parents),
            }
            for move in difference.moved
        ],
        "relations_added": [list(relation) for relation in difference.relations_added],
        "relations_removed": [list(relation) for relation in difference.relations_removed],
    }


def _print(difference: Difference) -> None:
    from taxoexpan.phrasing import pluralize

    old, new = difference.old, difference.new
    for concept in difference.added:
        print(f"added       {_named(concept)} {_place(new, concept.id)}")
    for concept in difference.removed:
        print(f"removed     {_named(concept)}, which was {_place(old, concept.id)}")
    for change in difference.relabelled:
        print(f"relabelled  {change.old.label} → {change.new.label} ({change.old.id})")
    for change in difference.redescribed:
        print(f"redescribed {_named(change.new)}")
    for move in difference.moved:
        steps = []
        if move.removed_parents:
            steps.append(f"no longer under {_labels(old, move.removed_parents)}")
        if move.added_parents:
            steps.append(f"now under {_labels(new, move.added_parents)}")
        if not new.parents(move.concept.id):
            steps.append("now at the top")
        print(f"moved       {_named(move.concept)}: {', '.join(steps)}")
    print(
        f"{pluralize(len(difference.added), 'concept')} added, "
        f"{len(difference.removed):,} removed, "
        f"{len(difference.relabelled):,} relabelled, {len(difference.redescribed):,} redescribed, "
        f"{len(difference.moved):,} moved; "
        f"{pluralize(len(difference.relations_added), 'relation')} added, "
        f"{len(difference.relations_removed):,} removed"
    )


def _named(concept: Concept) -> str:
    return f"{concept.label} ({concept.id})"


def _place(taxonomy: Taxonomy, id: str) -> str:
    """Return the paths of all parents."""
    paths = (" > ".join(taxonomy.path(parent)) for parent in taxonomy.parents(id))
    return " and ".join(f"under {path}" for path in paths) or "at the top"


def _labels(taxonomy: Taxonomy, ids: tuple[str, ...]) -> str:
    return ", ".join(taxonomy.concept(id).label for id in ids)
