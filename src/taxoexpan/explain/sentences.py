"""Descriptions of evidence in a few short sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taxoexpan.explain.evidence import (
    Evidence,
    Part,
    Position,
    RunnerUpComparison,
    SimilarChild,
    SuggestionEvidence,
)
from taxoexpan.explain.similarity import name_words
from taxoexpan.features.mentions import MentionKind
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import name_key, normalize_name

SIMILAR = 0.4
"""The lowest cosine at which two concepts are called similar."""
MAX_CHILDREN = 2
"""The number of similar children that are named."""
MAX_WORDS = 3
"""The number of shared words that are named."""
CLOSE = 1.25
FAR = 4.0
"""The runner-up is close below the first ratio of both scores, and far behind at the second."""
UNSURE_SCORE = 0.1
UNSURE_RATIO = 3.0
"""Below both this score and this ratio, the model is called unsure."""
MAX_SIGNALS = 2
MIN_SHARE = 0.5
"""The number of signals that are named as decisive. Each adds at least this share of the largest
difference."""
PART_PHRASES = {
    Part.NETWORK: "the network",
    Part.TOWER: "the text encoder",
    Part.NAMES: "the similarity of the names",
    Part.WORDS: "the words of the labels",
    Part.STRUCTURE: "the number of children",
}


def describe(evidence: Evidence) -> str:
    """Describe why the first parent was suggested, and how it compares with the runner-up."""
    sentences = list(_reasons(evidence))
    if evidence.comparison is not None and evidence.has_vector:
        sentences.append(_runner_up_sentence(evidence, evidence.comparison))
        sentences += _decisive_signals_sentence(evidence, evidence.comparison)
    return " ".join(sentences)


def describe_move(evidence: Evidence) -> str:
    """Describe why a concept may belong under the first suggestion, not the current parent."""
    sentences = list(_reasons(evidence))
    if evidence.comparison is not None and evidence.has_vector:
        sentences += _current_parent_sentences(evidence, evidence.comparison)
    return " ".join(sentences)


def _reasons(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence about similarity, and one about a mention or shared words."""
    first = evidence.first
    nearest = evidence.first.nearest_children
    similar = [child for child in nearest[:MAX_CHILDREN] if _is_similar(child.cosine)]
    children = similar or list(nearest[:1] if evidence.has_vector else ())
    if not evidence.has_vector:
        yield "None of its words is known to the model, so this suggestion is a guess."
    elif similar:
        names = join_words([_with_cosine(child) for child in similar])
        relation = "a child" if len(similar) == 1 else "two children"
        yield f"It is similar to {names}, {relation} of {_quote(first.parent)}."
    else:
        yield _no_similar_child(first)
    yield _mention_sentence(evidence) or _shared_words_sentence(first, children)


def _no_similar_child(first: SuggestionEvidence) -> str:
    """Describe a suggested parent without similar children."""
    parent = _quote(first.parent)
    similar = _is_similar(first.cosine)
    if first.nearest_children:
        nearest = _with_cosine(first.nearest_children[0])
        if similar:
            return (
                f"It is more similar to {parent} itself ({_cosine(first.cosine)}) than to the "
                f"nearest child, {nearest}."
            )
        return (
            f"Neither {parent} nor its children are similar to it; the nearest child is {nearest}."
        )
    # Cleaning holds out concepts in groups, so the children may have been held out with the query.
    state = "whose children were held out with it" if first.child_count else "which has no children"
    if similar:
        return f"It is similar to {parent} itself ({_cosine(first.cosine)}), {state}."
    return f"It is not very similar to {parent} ({_cosine(first.cosine)}), {state}."


def _mention_sentence(evidence: Evidence) -> str:
    """Describe the mention with the largest positive bonus, if there is one."""
    mentions = [mention for mention in evidence.first.mentions if mention.bonus > 0]
    if not mentions:
        return ""
    kind = max(mentions, key=lambda mention: mention.bonus).kind
    label = evidence.first.parent.label
    if kind is MentionKind.SAME_NAME:
        return f"Its label is also a name of '{label}'."
    sense = ", but in a less common sense" if kind.is_other_sense else ""
    if kind.likeliest_sense is MentionKind.NAME_ENDING:
        is_label = name_key(evidence.query.label).endswith(name_key(label))
        return f"Its label ends with {'' if is_label else 'a synonym of '}'{label}'{sense}."
    is_first = kind.likeliest_sense is MentionKind.FIRST_IN_DEFINITION
    ordinal = "first" if is_first else "second"
    return f"The {ordinal} concept that its definition mentions is '{label}'{sense}."


def _shared_words_sentence(
    suggestion: SuggestionEvidence, children: Sequence[SimilarChild], always: bool = True
) -> str:
    """Describe the words shared with the parent and children; `always` even if there are none."""
    by_concept = [(suggestion.parent, suggestion.shared_words)]
    by_concept += [(child.concept, child.shared_words) for child in children]
    words = list(dict.fromkeys(word for _, shared in by_concept for word in shared))[:MAX_WORDS]
    if not words:
        names = join_words([_quote(concept) for concept, _ in by_concept], "or")
        return f"It shares no words with {names}." if always else ""
    sharing = [_quote(concept) for concept, shared in by_concept if not {*words}.isdisjoint(shared)]
    noun = "word" if len(words) == 1 else "words"
    quoted = join_words([f"'{word}'" for word in words])
    return f"It shares the {noun} {quoted} with {join_words(sharing)}."


def _runner_up_sentence(evidence: Evidence, comparison: RunnerUpComparison) -> str:
    """Describe the runner-up and its distance."""
    score = evidence.first.score
    other = evidence.suggestions[1].score
    start = "The runner-up is"
    if score < UNSURE_SCORE and score < UNSURE_RATIO * other:
        start = "The model is unsure. The runner-up is"
    elif score < CLOSE * other:
        start = "The runner-up, close behind, is"
    elif score >= FAR * other:
        start = "The runner-up, far behind, is"
    return f"{start} {_runner_up_name(evidence, comparison)}."


def _decisive_signals_sentence(evidence: Evidence, comparison: RunnerUpComparison) -> Iterator[str]:
    """Yield the signals that favor the first suggestion most, if signals are fused."""
    others = comparison.score_parts
    leads = {part: value - others[part] for part, value in evidence.score_parts.items()}
    ranked = sorted(leads, key=lambda part: -leads[part])[:MAX_SIGNALS]
    highest = leads[ranked[0]]
    if Part.NETWORK not in leads or comparison.margin <= 0 or highest <= 0:
        return
    named = [part for part in ranked if leads[part] >= MIN_SHARE * highest]
    phrases = join_words([_signal_phrase(evidence, part) for part in named])
    yield f"{phrases[0].upper()}{phrases[1:]} made the difference."


def _signal_phrase(evidence: Evidence, signal: Part) -> str:
    """Name a signal, and the words of the query that only the first suggestion shares."""
    if signal is not Part.WORDS:
        return PART_PHRASES[signal]
    in_label = name_words(Concept("", evidence.query.label))
    others = evidence.suggestions[1].shared_words
    words = [
        f"'{word}'"
        for word in evidence.first.shared_words
        if singular(word) in in_label and word not in others
    ][:MAX_WORDS]
    if not words:
        return PART_PHRASES[signal]
    return f"the shared {'word' if len(words) == 1 else 'words'} {join_words(words)}"


def _current_parent_sentences(evidence: Evidence, comparison: RunnerUpComparison) -> Iterator[str]:
    """Yield sentences that compare the current parent with the better one."""
    current = evidence.suggestions[1]
    name = _runner_up_name(evidence, comparison)
    similar = "similar" if _is_similar(current.cosine) else "not very similar"
    similar += f" to it ({_cosine(current.cosine)})"
    if not current.child_count:
        yield f"It is now the only child of {name} and is {similar}."
    elif not current.nearest_children:
        yield f"It is now under {name}, whose other children were held out too; it is {similar}."
    else:
        nearest = _with_cosine(current.nearest_children[0])
        yield f"It is now under {name}, where the nearest child is {nearest}."
    words = _shared_words_sentence(current, current.nearest_children[:1], always=False)
    if words:
        yield words
    if comparison.margin < 0:
        yield "The model still prefers the current parent."
    elif evidence.first.score < CLOSE * current.score:
        yield "Both parents are about equally likely."
    else:
        yield from _decisive_signals_sentence(evidence, comparison)


def _runner_up_name(evidence: Evidence, comparison: RunnerUpComparison) -> str:
    """Name the runner-up and its position, with its path if both labels are the same."""
    first = evidence.first.parent
    other = evidence.suggestions[1]
    if normalize_name(other.parent.label) == normalize_name(first.label):
        where = f"under '{other.path[-2]}'" if len(other.path) > 1 else "at the top level"
        return f"another {_quote(other.parent)} ({where})"
    if comparison.position == Position.ELSEWHERE:
        return _quote(other.parent)
    return f"{_quote(other.parent)} (a {comparison.position} of {_quote(first)})"


def _is_similar(cosine: float) -> bool:
    return round(cosine, 2) >= SIMILAR  # rounded as it is shown


def _with_cosine(child: SimilarChild) -> str:
    return f"{_quote(child.concept)} ({_cosine(child.cosine)})"


def _cosine(value: float) -> str:
    return f"{value:z.2f}"


def _quote(concept: Concept) -> str:
    return f"'{concept.label}'"
