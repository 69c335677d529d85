"""Train a model, suggest parents and apply the suggestions, in one step."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.addition_messages import (
    applied_figures,
    count_reasons,
    print_applied,
    undecided,
)
from taxoexpan.cli.arguments import refuse_json_beside
from taxoexpan.cli.glossaries import print_glossary
from taxoexpan.cli.messages import note, print_json, warn
from taxoexpan.cli.suggestion_output import SuggestionSummary, print_no_parent
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
    from taxoexpan.decisions.additions import AppliedSuggestions
    from taxoexpan.decisions.decision import Leave
    from taxoexpan.decisions.suggestion import Suggestion
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


def expand_with_messages(options: ExpandOptions, with_json: bool) -> Sequence[Suggestion]:
    """Expand a taxonomy file, print a message about every step, and return the suggestions."""
    from taxoexpan.expansion import ExpansionObserver, expand

    class Messages(ExpansionObserver):
        """An observer that prints the steps of an expansion."""

        shows_progress = not options.quiet
        figures: Mapping[str, object] = {}
        suggestions: Sequence[Suggestion] = ()

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
            summary = SuggestionSummary()
            summary.add(expansion.suggestions)
            print_no_parent(summary.without_parent, summary.queries)

        def saved(self, what: str, path: Path) -> None:
            note(f"{what} written to {path}")

        def applied(self, expansion: Expansion, applied: AppliedSuggestions) -> None:
            print_applied(expansion.taxonomy, applied, expansion.policy.allowed_changes)
            _print_rule(expansion)
            _print_coarse(expansion)
            if left := undecided(applied):
                _print_undecided(expansion, left)
            self.suggestions = expansion.suggestions
            self.figures = {
                **applied_figures(expansion.taxonomy, applied),
                "already_present": named_present(expansion.concepts.present),
                "suggestions": str(options.suggestions_file),
            }

    messages = Messages()
    expand(options, messages)
    if with_json:
        print_json(messages.figures)
    return messages.suggestions


def _print_rule(expansion: Expansion) -> None:
    """Print the learned threshold, or the reason why there is none."""
    from taxoexpan.decisions.policies import Exact

    policy = expansion.policy
    precision = expansion.options.accept_at_precision
    if not expansion.suggestions:
        return
    if precision is not None and isinstance(policy, Exact):
        threshold = f"{policy.confidence:.3f} or more"
        note(
            f"accepted: a confidence of {threshold} ({precision:.0%} precision on held-out "
            "concepts)"
        )
    elif policy.is_unmeasured and expansion.options.together:
        warn(
            "no confidence is computed for concepts that are placed together, so all placements "
            "are written; review them"
        )
    elif policy.is_unmeasured:
        warn(
            "without a confidence, all concepts that have a suitable parent are written; review "
            "them"
        )


def _print_coarse(expansion: Expansion) -> None:
    """Print how many concepts are placed above their probable parent."""
    from taxoexpan.decisions.policies import Deepest
    from taxoexpan.decisions.suggestion import SuggestionKind

    if isinstance(expansion.policy, Deepest) and expansion.suggestions:
        least = f"{expansion.policy.truth:.3g} or more"
        note(f"placed: where a branch has a confidence of {least} ({expansion.truth:.3g} truth)")
    coarse = [s for s in expansion.suggestions if s.kind == SuggestionKind.COARSE and s.is_decided]
    if coarse:
        placed = "1 of them is" if len(coarse) == 1 else f"{len(coarse):,} of them are"
        note(
            f"{placed} placed coarsely, above the most likely parent, to be refined: see the kind "
            f"coarse in {expansion.options.suggestions_file}"
        )


def _print_undecided(expansion: Expansion, left: Sequence[Leave]) -> None:
    """Print how many concepts were not written, why, and how to add them."""
    options = expansion.options
    file = expansion.file
    total = pluralize(len({each.query.id for each in expansion.suggestions}), "new concept")
    count = len(left)
    verb = "is" if count == 1 else "are"
    table = str(options.suggestions_file)
    output = str(options.output)
    files = [output, table, "--concepts", str(options.new), "-o", output, "--force"]
    # An output in another format is not read in the same way.
    flags = file.read_flags if options.output.suffixes == file.path.suffixes else []
    command = shlex.join(["taxoexpan", "apply", *files, *flags])
    reasons = join_counts(count_reasons(left))
    note(
        f"{count:,} of {total} {verb} undecided and not written: {reasons}; to "
        f"review them, write accepted into the column decision of {table}, then run: {command} "
        "(with --all, it writes all of them)"
    )
