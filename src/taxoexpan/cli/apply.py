"""Write a taxonomy with accepted suggestions added to it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import open_taxonomy
from taxoexpan.cli.messages import note, print_applied, spell_files
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_groups import AcceptanceOptions, FormulaOptions, ReadingOptions
from taxoexpan.options import PATH, argument, option, output_option, repeated, switch
from taxoexpan.phrasing import join_words, pluralize

if TYPE_CHECKING:
    from taxoexpan.expansion import AppliedSuggestions
    from taxoexpan.formats.taxonomy_file import TaxonomyFile


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, AcceptanceOptions, FormulaOptions):
    """The options of `apply`."""

    taxonomy: Path = argument("TAXONOMY", "a taxonomy file, or - for standard input")
    decisions: Path = argument(
        "DECISIONS",
        "a CSV file from suggest or expand, edited or not, or your own with the columns query and "
        "parent_id (or parent_label, or path)",
    )
    output: Path | None = output_option("the taxonomy file to write, or - for standard output")
    force: bool = switch("overwrite existing outputs")
    concepts: Path | None = option(
        "the list of new concepts, to copy definitions and synonyms from; they replace those in "
        "the columns definition and synonyms of DECISIONS",
        kind=PATH,
        metavar="NEW",
    )
    patch: Path | None = option(
        "write the change as a patch for git apply, or - for standard output; the taxonomy file "
        "stays as it is, and OUT may be omitted",
        kind=PATH,
        metavar="FILE",
    )
    changes: tuple[Path, ...] = repeated(
        "also write the changes: FILE.kgcl as commands of the Knowledge Graph Change Language, "
        "FILE.md for a pull request, FILE.sssom.tsv with the merges as mappings; can be repeated",
        PATH,
        metavar="FILE",
    )


def run(options: Options) -> int:
    """Apply the decisions."""
    from taxoexpan.expansion import acceptance_of, apply_suggestions
    from taxoexpan.files import write_whole
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.formats.git import git_patch, refuse_unpatchable
    from taxoexpan.placement.adding.parent_lookup import read_decisions, with_details

    _refuse_outputs(options)
    accept = acceptance_of(options)
    file = open_taxonomy(options.taxonomy, options)
    if options.patch:
        refuse_unpatchable(file.path)
    file.check_changes(accept.allowed_changes)
    suggestions = read_decisions(options.decisions, file.taxonomy, accept.ids, options.allow_moves)
    listed = read_concepts(options.concepts) if options.concepts else []
    suggestions = with_details(suggestions, listed)
    applied = apply_suggestions(
        file, suggestions, options.output, accept, options.force, options.keep_formulas
    )
    print_applied(file.taxonomy, applied, accept)
    if applied.accepted.undecided:
        count = pluralize(applied.accepted.undecided, "concept")
        fix = f"write accepted into the column decision of {options.decisions}, or use --all"
        note(f"{count} left undecided; to add one, {fix}")
    own_ids = {concept.id for concept in listed if concept.id}
    _write_changes(options, file, applied, own_ids)
    if options.patch:
        patch = git_patch(applied.written.contents)
        write_whole({options.patch: patch}, options.force)
        note(f"patch in {spell_files([options.patch])}")
    return 0


def _refuse_outputs(options: Options) -> None:
    """Refuse missing outputs, and outputs that would overwrite each other or an input."""
    from taxoexpan.files import preflight
    from taxoexpan.formats.changes.change_set import change_format

    if not (options.output or options.patch):
        raise ConfigurationError("no output is given; give -o OUT, or --patch FILE, or both")
    for path in options.changes:
        change_format(path)
    inputs = [options.decisions, *filter(None, [options.concepts])]
    others = [*options.changes, *filter(None, [options.patch])]
    preflight([*filter(None, [options.output]), *others], inputs, options.force)
    preflight(others, [options.taxonomy], options.force)


def _write_changes(
    options: Options,
    file: TaxonomyFile,
    applied: AppliedSuggestions,
    own_ids: Collection[str],
) -> None:
    """Write the changes in all requested formats."""
    from taxoexpan.files import write_whole
    from taxoexpan.formats.changes.change_set import ChangeSet, change_format

    if not options.changes:
        return
    mappings = applied.accepted.mappings(own_ids)
    changes = ChangeSet.of_additions(file, applied.additions, mappings)
    contents = {}
    for path in options.changes:
        text, notes = changes.text(change_format(path), f"Changes in {options.taxonomy.name}")
        contents[path] = text.encode()
        for message in notes:
            note(f"note: {message}")
    write_whole(contents, options.force)
    note(f"changes in {join_words([str(path) for path in options.changes])}")
