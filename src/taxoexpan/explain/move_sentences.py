"""Evidence for another place than a concept has now, in a few plain sentences.

The first suggestion is the better place, the runner-up the present one, and the contest between
them may go either way.
"""

from __future__ import annotations

from collections.abc import Iterator

from taxoexpan.explain.evidence import Contest, Evidence
from taxoexpan.explain.sentences import (
    CLOSE,
    MOST_WORDS,
    alike,
    in_short,
    listed,
    runner_up,
    speaking_for,
    with_number,
    without,
)

_STANDING = {"above": " (one level up)", "below": " (one level down)", "beside": " (beside it)"}


def moved_in_words(evidence: Evidence) -> str:
    """Three or four short sentences: what speaks for the better place, and what for the present."""
    return " ".join(_sentences(evidence))


def _sentences(evidence: Evidence) -> Iterator[str]:
    yield from speaking_for(evidence)
    if evidence.contest is not None and evidence.known:
        yield _present(evidence, evidence.contest)
        yield from _decided(evidence, evidence.contest)


def _present(evidence: Evidence, contest: Contest) -> str:
    """Where the concept is now, and what is like it there."""
    now = evidence.support[1]
    place = f"under {runner_up(evidence)}{_STANDING.get(contest.standing, '')}"
    number = f"the two are {'' if alike(now.cosine) else 'not much '}alike ({in_short(now.cosine)})"
    if not now.child_count:
        told = f"Now it is alone {place}; {number}"
    elif not now.children:
        told = f"Now it is {place}, whose other children were hidden too; {number}"
    else:
        told = f"Now it is {place}, where {with_number(now.children[0])} comes nearest"
    others = now.children[0].words if now.children else ()
    words = list(dict.fromkeys([*now.words, *others]))[:MOST_WORDS]
    if words:
        verb = "word is" if len(words) == 1 else "words are"
        told += f"; the shared {verb} {listed(words)}"
    return f"{told}."


def _decided(evidence: Evidence, contest: Contest) -> Iterator[str]:
    """Which place is preferred where that is not plain, and without what it would not be."""
    better, now = evidence.support
    if contest.margin < 0:
        yield "The present place is still preferred."
        return
    if better.score < CLOSE * now.score:
        yield "The two places are about as likely."
    decisive = contest.decisive
    if decisive is not None and decisive.margin <= contest.margin / 2:
        verb = "been preferred" if decisive.reverses else "come closer"
        yield f"The present place would have {verb} {without(evidence, contest, decisive)}."
