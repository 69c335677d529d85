"""Add accepted suggestions to a taxonomy and write the result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.addition_messages import (
    applied_figures,
    count_reasons,
    print_applied,
    undecided,
)
from taxoexpan.cli.arguments import open_taxonomy, refuse_json_beside
from taxoexpan.cli.messages import note, note_some, print_json, warn
from taxoexpan.option_declarations import (
    PATH,
    argument,
    json_option,
    option,
    output_option,
    repeated,
    switch,
)
from taxoexpan.phrasing import join_counts, join_words, pluralize
from taxoexpan.shared_options import AcceptanceOptions, QuietOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.decisions.additions import AppliedSuggestions
    from taxoexpan.decisions.decision import Decision
    from taxoexpan.decisions.policies import Policy
    from taxoexpan.formats.taxonomy_file import TaxonomyFile


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, AcceptanceOptions, QuietOptions):
    """The options of `apply`."""

    taxonomy: Path = argument("TAXONOMY", "taxonomy file, or - for standard input")
    decisions: Path = argument(
        "DECISIONS",
        "CSV file written by suggest, expand or export, or any CSV file with the columns query "
        "(the label of the new concept) and parent_id, parent_label or path",
    )
    output: Path = output_option("output taxonomy file, or - for standard output", MISSING)
    force: bool = switch("overwrite existing output files")
    concepts: Path | None = option(
        "file with the new concepts, from which definitions and synonyms are copied, unless "
        "DECISIONS has them, perhaps edited, in the columns definition and synonyms",
        kind=PATH,
        metavar="NEW",
    )
    changes: tuple[Path, ...] = repeated(
        "also write the changes to FILE; the suffix selects the format: .kgcl (Knowledge Graph "
        "Change Language), .md (Markdown for a pull request) or .sssom.tsv (merges as SSSOM "
        "mappings); can be repeated",
        PATH,
        metavar="FILE",
    )
    json: bool = json_option("print what was added, and what was not,")


def run(options: Options) -> int:
    """Apply the accepted suggestions."""
    from taxoexpan.decisions.applying import apply_writable, supported
    from taxoexpan.decisions.decision import decide
    from taxoexpan.decisions.parent_lookup import (
        cycles_in_table,
        in_table,
        read_decisions,
        with_details,
    )
    from taxoexpan.decisions.policies import policy_of_options
    from taxoexpan.decisions.suggestion import SuggestionError
    from taxoexpan.errors import CycleError
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.taxonomy.id_policy import IdPolicy

    _refuse_outputs(options)
    ids = IdPolicy.of(options)
    file = open_taxonomy(options.taxonomy, options)
    file.check_changes(policy_of_options(options).allowed_changes)
    rows = read_decisions(options.decisions, file.taxonomy, ids, options.allow_moves)
    listed = read_concepts(options.concepts) if options.concepts else []
    rows = with_details(rows, listed)
    policy = policy_of_options(options, rows)
    decided = decide(file.taxonomy, rows, policy)
    decisions, refused = supported(file, decided)
    for refusal in refused:
        other = file.path.with_suffix(file.format.movable_suffix).name
        fix = f"to carry it out, first run taxoexpan convert {file.path.name} {other}"
        warn(f"{refusal.message}; {fix}")
    try:
        applied, wrong, missing = apply_writable(
            file, decisions, options.output, ids, options.force
        )
    except SuggestionError as error:
        raise in_table(error, options.decisions) from None
    except CycleError as error:
        raise cycles_in_table(error, options.decisions, decisions) from None
    for each in wrong:
        warn(str(in_table(each, options.decisions)))
    for refusal in missing:
        warn(refusal.message)
    threshold = policy if policy.is_asked_for else None
    print_applied(file.taxonomy, applied, policy.allowed_changes, threshold)
    _print_unmoved(decided, applied)
    _print_left(options, applied, threshold)
    own_ids = {concept.id for concept in listed if concept.id}
    _write_changes(options, file, applied, own_ids)
    if options.json:
        print_json(applied_figures(file.taxonomy, applied, threshold))
    return 0


def _print_unmoved(decided: Sequence[Decision], applied: AppliedSuggestions) -> None:
    """Print how many moves of accepted inserts need a permission."""
    from taxoexpan.decisions.decision import Place
    from taxoexpan.decisions.suggestion import SuggestionKind

    present = {query.id for query, _ in applied.already_present}
    accepted = [d for d in decided if isinstance(d, Place) and d.policy is None]
    moves = {
        (child, s.parent.id, s.query.id)
        for d in accepted
        if not d.is_moving and d.query.id not in present
        for s in d.suggestions
        if s.kind == SuggestionKind.INSERT
        for child in s.moves
    }
    if moves:
        warn(f"{pluralize(len(moves), 'move')} of accepted inserts not done; use --allow-moves")


def _print_left(options: Options, applied: AppliedSuggestions, threshold: Policy | None) -> None:
    """Print which concepts are left for review, and how to add them."""
    from taxoexpan.decisions.decision import Reason

    left = undecided(applied, threshold)
    reasons = [s.why for each in left for s in each.suggestions if each.reason == Reason.SIMILAR]
    note_some([f"similar: {why}" for why in reasons if why], " are similar")
    if left:
        count = pluralize(len(left), "concept")
        fix = f"write accepted into the column decision of {options.decisions}"
        fix += "" if options.all else ", or use --all"
        note(f"{count} left out: {join_counts(count_reasons(left))}; to add one, {fix}")


def _refuse_outputs(options: Options) -> None:
    """Refuse outputs that would overwrite each other or an input."""
    from taxoexpan.files import preflight
    from taxoexpan.formats.changes.change_set import change_format

    if options.json:
        refuse_json_beside(options.output)
    for path in options.changes:
        change_format(path)
    inputs = [options.decisions, *filter(None, [options.concepts])]
    preflight([options.output, *options.changes], inputs, options.force)
    preflight(options.changes, [options.taxonomy], options.force)


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
    mappings = applied.mappings(own_ids)
    changes = ChangeSet.of_additions(file, applied.additions, mappings)
    contents = {}
    for path in options.changes:
        text, notes = changes.text(change_format(path), f"Changes in {options.taxonomy.name}")
        contents[path] = text.encode()
        for message in notes:
            warn(message)
    write_whole(contents, options.force)
    note(f"changes in {join_words([str(path) for path in options.changes])}")
