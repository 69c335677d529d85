"""Train a model, suggest parents and apply the suggestions, in one step."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.addition_messages import applied_figures, print_applied
from taxoexpan.cli.arguments import refuse_json_beside
from taxoexpan.cli.glossaries import print_glossary
from taxoexpan.cli.messages import note, print_json, warn
from taxoexpan.cli.suggestion_output import print_no_parent
from taxoexpan.cli.taxonomy_messages import (
    named_present,
    print_file_notes,
    print_filtered,
    print_language,
)
from taxoexpan.cli.training_messages import begin_training, print_training
from taxoexpan.option_declarations import json_option
from taxoexpan.phrasing import join_counts, pluralize
from taxoexpan.shared_options import ExpandOptions

if TYPE_CHECKING:
    from taxoexpan.decisions.applying import AppliedSuggestions
    from taxoexpan.expansion import Expansion
    from taxoexpan.model import TaxoExpan


@dataclass(frozen=True, kw_only=True)
class Options(ExpandOptions):
    """The options of `expand`, also those that Python does not need."""

    json: bool = json_option("print what was added, and what was not,")


def run(options: Options) -> int:
    """Expand a taxonomy: train, suggest and apply."""
    if options.json:
        refuse_json_beside(options.output)
    expand_with_messages(options, options.json)
    return 0


def expand_with_messages(options: ExpandOptions, with_json: bool) -> AppliedSuggestions:
    """Expand a taxonomy file, and print a message about every step, and JSON if requested."""
    from taxoexpan.expansion import ExpansionObserver, expand

    class Messages(ExpansionObserver):
        """An observer that prints the steps of an expansion."""

        shows_progress = not options.quiet
        figures: Mapping[str, object] = {}

        def prepared(self, expansion: Expansion) -> None:
            print_file_notes(expansion.file)
            print_language(expansion.file)
            print_filtered(expansion.taxonomy, expansion.concepts)
            found = expansion.looked_up
            if options.glossary and found:
                matches = {"concepts": found.taxonomy_matches, "new concepts": found.new_matches}
                print_glossary(options.glossary, found.glossary, matches)

        def training(self, expansion: Expansion, model: TaxoExpan) -> None:
            begin_training(model, expansion.training_taxonomy)

        def trained(self, model: TaxoExpan) -> None:
            print_training(model)

        def placed(self, expansion: Expansion) -> None:
            from taxoexpan.decisions.acceptance import no_suitable_parent

            count = len({suggestion.query.id for suggestion in expansion.suggestions})
            print_no_parent(no_suitable_parent(expansion.suggestions), count)

        def saved(self, what: str, path: Path) -> None:
            note(f"{what} written to {path}")

        def applied(self, expansion: Expansion, applied: AppliedSuggestions) -> None:
            print_applied(expansion.taxonomy, applied, expansion.acceptance)
            _print_rule(expansion)
            _print_coarse(expansion)
            if applied.accepted.undecided:
                _print_undecided(expansion, applied.accepted.undecided)
            self.figures = {
                **applied_figures(expansion.taxonomy, applied),
                "already_present": named_present(expansion.concepts.present),
                "suggestions": str(options.suggestions_file),
            }

    messages = Messages()
    applied = expand(options, messages)
    if with_json:
        print_json(messages.figures)
    return applied


def _print_rule(expansion: Expansion) -> None:
    """Print the learned threshold, or the reason why there is none."""
    from taxoexpan.decisions.acceptance import have_confidence

    precision = expansion.options.accept_at_precision
    if not expansion.suggestions:
        return
    if precision is not None:
        threshold = f"{expansion.threshold:.3f} or more"
        note(
            f"accepted: a confidence of {threshold} ({precision:.0%} precision on held-out "
            "concepts)"
        )
    elif expansion.acceptance.has_threshold:
        return
    elif expansion.options.together:
        warn(
            "no confidence is computed for concepts that are placed together, so all placements "
            "are written; review them"
        )
    elif not have_confidence(expansion.suggestions):
        warn(
            "without a confidence, all concepts that have a suitable parent are written; review "
            "them"
        )


def _print_coarse(expansion: Expansion) -> None:
    """Print how many concepts are placed above their probable parent."""
    from taxoexpan.decisions.acceptance import places_safely
    from taxoexpan.decisions.suggestion import SuggestionKind

    is_replaced = expansion.options.accept_at_precision is not None
    if not is_replaced and places_safely(expansion.acceptance, expansion.suggestions):
        least = f"{expansion.min_branch:.3g} or more"
        note(f"placed: where a branch has a confidence of {least} ({expansion.truth:.3g} truth)")
    coarse = [s for s in expansion.suggestions if s.kind == SuggestionKind.COARSE and s.is_decided]
    if coarse:
        placed = "1 of them is" if len(coarse) == 1 else f"{len(coarse):,} of them are"
        note(
            f"{placed} placed coarsely, above the most likely parent, to be refined: see the kind "
            f"coarse in {expansion.options.suggestions_file}"
        )


def _print_undecided(expansion: Expansion, undecided: Counter[str]) -> None:
    """Print how many concepts were not written, why, and how to add them."""
    options = expansion.options
    file = expansion.file
    total = pluralize(len({each.query.id for each in expansion.suggestions}), "new concept")
    count = undecided.total()
    verb = "is" if count == 1 else "are"
    table = str(options.suggestions_file)
    output = str(options.output)
    files = [output, table, "--concepts", str(options.new), "-o", output, "--force"]
    # An output in another format is not read in the same way.
    flags = file.read_flags if options.output.suffixes == file.path.suffixes else []
    command = shlex.join(["taxoexpan", "apply", *files, *flags])
    note(
        f"{count:,} of {total} {verb} undecided and not written: {join_counts(undecided)}; to "
        f"review them, write accepted into the column decision of {table}, then run: {command} "
        "(with --all, it writes all of them)"
    )
