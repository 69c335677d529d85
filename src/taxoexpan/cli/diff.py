"""Compare two taxonomies and list added, removed, relabeled and moved concepts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.arguments import open_taxonomies
from taxoexpan.cli.messages import note, print_json, print_line, warn
from taxoexpan.option_declarations import argument, json_option, option
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import QuietOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.taxonomy import Concept, Taxonomy
    from taxoexpan.taxonomy.difference import Comparison, ParentChange


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, QuietOptions):
    """The options of `diff`."""

    old: Path = argument("OLD", "old taxonomy, in any supported format")
    new: Path = argument("NEW", "new taxonomy, in any supported format")
    to: str = option(
        "output format: text (default), json, kgcl (Knowledge Graph Change Language), markdown "
        "(for a pull request) or sssom (a table of mappings; only concepts whose id has changed)",
        "text",
        choices=("text", "json", "kgcl", "markdown", "sssom"),
    )
    json: bool = json_option("the same as --to json: print the differences")


def run(options: Options) -> int:
    """Print every difference; return 1 if there is one."""
    from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet

    old, new = open_taxonomies([options.old, options.new], options)
    changes = ChangeSet.between(old, new)
    comparison = changes.comparison
    for message in changes.notes:
        warn(message)
    if options.json or options.to == "json":
        print_json(_as_dict(comparison))
    elif options.to == "text":
        _print(comparison)
        print_line(_matched(comparison))
    else:
        title = f"Changes in {options.new.name}"
        text, notes = changes.text(ChangeFormat(options.to), title)
        print(text, end="")
        for message in notes:
            warn(message)
        note(f"note: {_matched(comparison)}")
    return int(bool(comparison))


def _as_dict(comparison: Comparison) -> dict[str, Any]:
    difference = comparison.difference

    def named(concept: Concept) -> dict[str, str]:
        return {"id": concept.id, "label": concept.label}

    return {
        "added": [named(concept) for concept in difference.added],
        "removed": [named(concept) for concept in difference.removed],
        "relabeled": [
            {"id": change.old.id, "old": change.old.label, "new": change.new.label}
            for change in difference.relabeled
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
        "ids_changed": [{"old": old, "new": new} for old, new in comparison.changed_ids],
        "matched": {how.value: count for how, count in comparison.counts.items()},
    }


def _print(comparison: Comparison) -> None:
    difference = comparison.difference
    old = difference.old
    new = difference.new
    for concept in difference.added:
        print_line(f"added       {_named(concept)} {_place(new, concept.id)}")
    for concept in difference.removed:
        print_line(f"removed     {_named(concept)}, which was {_place(old, concept.id)}")
    for change in difference.relabeled:
        print_line(f"relabeled   {change.old.label} → {change.new.label} ({change.old.id})")
    for change in difference.redescribed:
        print_line(f"redescribed {_named(change.new)}")
    for move in difference.moved:
        print_line(f"moved       {_named(move.concept)}: {_steps(old, new, move)}")
    for old_id, new_id in comparison.changed_ids:
        print_line(f"id changed  {old.concept(old_id).label}: {old_id} → {new_id}")
    print_line(
        f"{pluralize(len(difference.added), 'concept')} added, "
        f"{len(difference.removed):,} removed, "
        f"{len(difference.relabeled):,} relabeled, {len(difference.redescribed):,} redescribed, "
        f"{len(difference.moved):,} moved, "
        f"{pluralize(len(comparison.changed_ids), 'id')} changed; "
        f"{pluralize(len(difference.relations_added), 'relation')} added, "
        f"{len(difference.relations_removed):,} removed"
    )


def _matched(comparison: Comparison) -> str:
    """Describe how many concepts of both files were recognized as the same, and how."""
    ways = [f"{count:,} by {how}" for how, count in comparison.counts.items()]
    return f"same concepts: {', '.join(ways) or 'none'}"


def _steps(old: Taxonomy, new: Taxonomy, move: ParentChange) -> str:
    """Describe which parents a concept lost, and which it gained."""
    steps = []
    if move.removed_parents:
        steps.append(f"no longer under {_labels(old, move.removed_parents)}")
    if move.added_parents:
        steps.append(f"now under {_labels(new, move.added_parents)}")
    if not new.parents(move.concept.id):
        steps.append("now at the top")
    return ", ".join(steps)


def _named(concept: Concept) -> str:
    return f"{concept.label} ({concept.id})"


def _place(taxonomy: Taxonomy, id: str) -> str:
    """Return the paths of all parents of a concept."""
    paths = (" > ".join(taxonomy.short_path(parent)) for parent in taxonomy.parents(id))
    return " and ".join(f"under {path}" for path in paths) or "at the top"


def _labels(taxonomy: Taxonomy, ids: tuple[str, ...]) -> str:
    return ", ".join(taxonomy.concept(id).label for id in ids)
