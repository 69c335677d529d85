"""Evidence in a few plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taxoexpan.explain.evidence import Child, Contest, Evidence, Removal, Support
from taxoexpan.features.mentions import MentionKind
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

LIKE = 0.4
"""The cosine from which on two concepts are called alike."""

NAMED = 2
"""Children that are named."""

MOST_WORDS = 3

CLOSE, FAR = 1.25, 4.0
"""How many times the runner-up's score the first has: less is close, no less is far."""

UNSURE_SCORE, UNSURE_LEAD = 0.1, 3.0
"""Below both, the first suggestion is one among many."""

_STANDING = {"above": ", one level up", "below": ", one level down", "beside": ", beside it"}


def in_words(evidence: Evidence) -> str:
    """Two or three short sentences on the first suggestion; names are as they are."""
    return " ".join(_sentences(evidence))


def _sentences(evidence: Evidence) -> Iterator[str]:
    yield from speaking_for(evidence)
    if evidence.contest is not None and evidence.known:
        yield _contested(evidence, evidence.contest)


def speaking_for(evidence: Evidence) -> Iterator[str]:
    """A sentence on what is like the query at the first suggestion, and one on what they share."""
    first, named = evidence.first, named_children(evidence)
    if not evidence.known:
        yield "Nothing is known of its words, so that this is a guess."
    elif named and alike(named[0].cosine):
        verb = "is" if len(named) == 1 else "are"
        yield f"Like {listed(list(map(with_number, named)))}, which {verb} already there."
    else:
        yield _nothing_alike(first)
    yield _mentioned(evidence) or _shared_words(first, named)


def named_children(evidence: Evidence) -> list[Child]:
    """The first suggestion's children that are named: those alike, or else the nearest."""
    children = evidence.first.children
    near = [child for child in children[:NAMED] if alike(child.cosine)]
    return near or list(children[:1] if evidence.known else ())


def _nothing_alike(first: Support) -> str:
    """What there is to say where no child is much like the query."""
    label, number = first.parent.label, in_short(first.cosine)
    if not first.children:
        # Cleaning hides concepts in groups: what is there may have been hidden with the query.
        empty = not first.child_count
        if alike(first.cosine):
            state = ", which has nothing under it yet" if empty else "; what is under it was hidden"
            return f"Like {label} itself ({number}){state}."
        state = "There is nothing" if empty else "Hidden with it was what is"
        yet = " yet" if empty else ""
        return f"{state} under {label}{yet}, and the two are not much alike ({number})."
    nearest = with_number(first.children[0])
    if alike(first.cosine):
        return f"Like {label} itself ({number}) more than like {nearest}, the nearest there."
    return f"Nothing there is much like it; {nearest} comes nearest."


def _mentioned(evidence: Evidence) -> str:
    """The mention that speaks for the parent most, if any does."""
    said = [mention for mention in evidence.first.mentions if mention.bonus > 0]
    if not said:
        return ""
    best, label = max(said, key=lambda mention: mention.bonus), evidence.first.parent.label
    kind = MentionKind(best.kind)
    if kind is MentionKind.SAME_NAME:
        return f"It has the very name of {label}."
    sense = ", though in a rarer sense" if kind.is_other_sense else ""
    if kind.likeliest_sense is MentionKind.NAME_ENDING:
        ends = _key(evidence.query.label).endswith(_key(label))
        return f"Its name ends in {label if ends else f'another word for {label}'}{sense}."
    place = "first" if kind.likeliest_sense is MentionKind.FIRST_IN_DEFINITION else "second"
    return f"The {place} thing that its definition names is {label}{sense}."


def _shared_words(first: Support, named: Sequence[Child]) -> str:
    """The words shared with the parent and with the children that are named."""
    others = (word for child in named for word in child.words)
    words = list(dict.fromkeys([*first.words, *others]))[:MOST_WORDS]
    if not words:
        return "No word in common."
    return f"Shares the {'word' if len(words) == 1 else 'words'} {listed(words)}."


def _contested(evidence: Evidence, contest: Contest) -> str:
    """The runner-up, how far behind it is, and without what it would not be."""
    score, other = evidence.first.score, evidence.support[1].score
    lead = "Next best"
    if score < UNSURE_SCORE and score < UNSURE_LEAD * other:
        lead = "Unsure: next best"
    elif score < CLOSE * other:
        lead = "Next best, close behind,"
    elif score >= FAR * other:
        lead = "Next best, far behind,"
    told = f"{lead} was {runner_up(evidence)}{_STANDING.get(contest.standing, '')}"
    decisive = contest.decisive
    if decisive is None or decisive.margin > contest.margin / 2:
        return f"{told}."
    verb = "been preferred" if decisive.reverses else "come closer"
    return f"{told}, which would have {verb} {without(evidence, contest, decisive)}."


def without(evidence: Evidence, contest: Contest, removal: Removal) -> str:
    """The condition that a relation were not there, told from the runner-up, which is `it`."""
    upper, lower, other = removal.upper, removal.lower, contest.runner_up
    first, named = evidence.first, [child.concept for child in named_children(evidence)]
    if upper == first.parent and lower in named and lower != other:
        return f"without {lower.label}"
    above = "it" if upper == other else upper.label
    if lower in (first.parent, other):
        return f"if {'it' if lower == other else lower.label} were not under {above}"
    return f"without {lower.label} under {above}"


def runner_up(evidence: Evidence) -> str:
    """Its label, or where it stands if the first one has the same."""
    other = evidence.support[1]
    if normalize_name(other.parent.label) != normalize_name(evidence.first.parent.label):
        return other.parent.label
    where = f"under {other.path[-2]}" if len(other.path) > 1 else "at the top"
    return f"another {other.parent.label} ({where})"


def alike(cosine: float) -> bool:
    """Whether two concepts are called alike."""
    return round(cosine, 2) >= LIKE  # as it is told


def with_number(child: Child) -> str:
    """A child's label and its cosine."""
    return f"{child.concept.label} ({in_short(child.cosine)})"


def in_short(value: float) -> str:
    """Two decimals, and no zero before them."""
    sign = "-" if round(value, 2) < 0 else ""
    return sign + f"{abs(value):.2f}".removeprefix("0")


def listed(names: Sequence[str]) -> str:
    """One, one and another, or several with commas."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _key(name: str) -> str:
    """A name without case, and without the plural of its last word."""
    *rest, last = normalize_name(name).split() or [""]
    return " ".join([*rest, singular(last)])
