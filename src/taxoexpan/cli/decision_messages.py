"""Messages about what `expand` has decided: the rule, and the concepts that it left undecided."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.expansion import Expansion, PlacedConcepts


def print_rule(expansion: Expansion, placed: PlacedConcepts) -> None:
    """Print the threshold that was learned, or why there is none."""
    from taxoexpan.placement.adding.acceptance import have_confidence

    request, precision = expansion.request, expansion.request.accept_at_precision
    if not placed.suggestions:
        return
    if precision is not None:
        threshold = f"{expansion.threshold(placed):.3f} or more"
        note(
            f"accepted: a confidence of {threshold} ({precision:.0%} precision on held-out "
            "concepts)"
        )
    elif request.together and not request.acceptance.has_threshold:
        note(
            "no confidence is computed for concepts that are placed together, so all placements "
            "are written; review them"
        )
    elif not request.acceptance.has_threshold and not have_confidence(placed.suggestions):
        note(
            "without a confidence, all concepts that have a suitable parent are written; review "
            "them"
        )


def print_undecided(expansion: Expansion, placed: PlacedConcepts, count: int) -> None:
    """Print how many concepts were not written, why, and how to add them."""
    if not count:
        return
    request = expansion.request
    total = pluralize(len({each.query.id for each in placed.suggestions}), "new concept")
    verb = "is" if count == 1 else "are"
    table, output = str(request.suggestions_file), str(request.output)
    files = [output, table, "--concepts", str(request.new), "-o", output, "--force"]
    # An output in another format is not read in the same way.
    is_same = request.output.suffixes == expansion.file.path.suffixes
    flags = expansion.file.read_flags if is_same else []
    command = shlex.join(["taxoexpan", "apply", *files, *flags])
    note(
        f"{count:,} of {total} {verb} undecided and not written: {_reason(expansion, placed)}; "
        f"to review them, write accepted into the column decision of {table}, then run: {command} "
        "(with --all, it writes all of them)"
    )


def _reason(expansion: Expansion, placed: PlacedConcepts) -> str:
    """Return why concepts are undecided."""
    from taxoexpan.placement.adding.acceptance import DEFAULT_MIN_CONFIDENCE, have_confidence

    minimum, confidence = expansion.request.acceptance.min_score, expansion.threshold(placed)
    if minimum is None and confidence is None:
        if not have_confidence(placed.suggestions):
            return "no suitable parent"
        return f"a confidence below {DEFAULT_MIN_CONFIDENCE}, or no suitable parent"
    reasons = [f"a score below {minimum}"] if minimum else []
    reasons += [f"a confidence below {confidence:.3g}"] if confidence else []
    return " or ".join(reasons)
