"""Policies: rules that choose among the suggestions for concepts that nobody has decided about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

from taxoexpan.decisions.coarse_places import safe_place
from taxoexpan.decisions.suggestion import Suggestion, Suitability
from taxoexpan.errors import ConfigurationError
from taxoexpan.shared_options import AcceptanceOptions, ExpandOptions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.thresholds import DEFAULT_TRUTH, LIKELY


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A rule that chooses suggestions, and what it may change of existing concepts.

    A plain policy chooses nothing: it leaves every concept to a person.
    """

    allow_moves: bool = False
    allow_merges: bool = False
    top_k: int = 1
    """The number of parents."""
    is_asked_for: bool = False
    """Whether a person has asked for it; then it applies to every concept without a decision.

    Otherwise concepts without a suitable parent, and those left for review before, are left.
    """

    @property
    def allowed_changes(self) -> list[str]:
        """The allowed changes to existing concepts: moves and synonyms."""
        return ["moves"] * self.allow_moves + ["synonyms"] * self.allow_merges

    @property
    def is_unmeasured(self) -> bool:
        """Whether it places concepts of unknown confidence, without being asked to."""
        return False

    def fitted(self, suggestions: Sequence[Suggestion]) -> Policy:  # noqa: ARG002
        """Return the policy that can be used for these suggestions of undecided concepts."""
        return self

    def choose(
        self,
        ranked: Sequence[Suggestion],  # noqa: ARG002
        taxonomy: Taxonomy,  # noqa: ARG002
        rejected: Collection[str],  # noqa: ARG002
    ) -> list[Suggestion]:
        """Return the suggestions to follow, of those for one concept in the order of their ranks.

        If there are none, a person has to decide. `rejected` are ids of parents that a person has
        rejected.
        """
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact(Policy):
    """Place each concept below its first suggestions, if they are likely enough."""

    confidence: float | None = LIKELY
    """The least confidence; None if it is not known."""
    score: float | None = None

    @property
    def is_unmeasured(self) -> bool:
        """Whether the confidence is not known."""
        return self.confidence is None and not self.is_asked_for

    def fitted(self, suggestions: Sequence[Suggestion]) -> Exact:
        """Return this policy, or one without a confidence if there is none."""
        if have_confidence(suggestions) or not self.confidence:
            return self
        if self.is_asked_for:
            message = "not all of these suggestions have a confidence"
            cause = "the model could not learn it, or the concepts were placed together"
            raise ConfigurationError(f"{message}: {cause}", fix="use a minimum score instead")
        return replace(self, confidence=None)

    def choose(
        self,
        ranked: Sequence[Suggestion],
        taxonomy: Taxonomy,  # noqa: ARG002
        rejected: Collection[str],  # noqa: ARG002
    ) -> list[Suggestion]:
        """Return the first suggestions that reach both thresholds, or a merge that does."""
        if ranked[0].is_merge and self._admits(ranked[0]):
            return [ranked[0]]
        good = [s for s in ranked if not s.is_merge and self._admits(s)]
        first = sorted({s.rank for s in good})[: self.top_k]
        return [s for s in good if s.rank in first]

    def _admits(self, suggestion: Suggestion) -> bool:
        is_sure = not self.confidence or (suggestion.confidence or 0.0) >= self.confidence
        return is_sure and suggestion.score >= (self.score or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything(Policy):
    """Place each concept below its first suggestions, whatever their confidence."""

    is_asked_for: bool = True

    def choose(
        self, ranked: Sequence[Suggestion], taxonomy: Taxonomy, rejected: Collection[str]
    ) -> list[Suggestion]:
        """Return the first suggestions."""
        return Exact(confidence=None, top_k=self.top_k).choose(ranked, taxonomy, rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deepest(Policy):
    """Place each concept below its first suggestion, or the deepest concept above that is sure."""

    truth: float = DEFAULT_TRUTH
    """The least branch confidence: the fraction of placements that are true."""

    def fitted(self, suggestions: Sequence[Suggestion]) -> Policy:
        """Return this policy, or `Exact` if the confidence of the branches is not known."""
        parents = [s for s in suggestions if not s.is_merge]
        if suggestions and all(s.levels for s in parents):
            return self
        exact = Exact(allow_moves=self.allow_moves, allow_merges=self.allow_merges)
        return exact.fitted(suggestions)

    def choose(
        self, ranked: Sequence[Suggestion], taxonomy: Taxonomy, rejected: Collection[str]
    ) -> list[Suggestion]:
        """Return the first suggestion, or a coarse one above it, or a likely merge."""
        if ranked[0].is_merge:
            return [ranked[0]]
        place = safe_place(ranked[0], self.truth, taxonomy, rejected)
        if place is None:
            return []
        return [place if place is ranked[0] else replace(place, rank=ranked[-1].rank + 1)]


def have_confidence(suggestions: Sequence[Suggestion]) -> bool:
    """Return whether the confidence of all suggested parents is known."""
    return all(s.confidence is not None for s in suggestions if not s.is_merge)


def has_no_suitable_parent(first: Suggestion) -> bool:
    """Return whether a concept with this first suggestion has no suitable parent and no merge."""
    return first.place == Suitability.NONE and not first.is_merge


def policy_of(
    *,
    top_k: int = 1,
    min_score: float | None = None,
    min_confidence: float | None = None,
    min_branch: float = DEFAULT_TRUTH,
    exact_only: bool = False,
    allow_moves: bool = False,
    allow_merges: bool = False,
) -> Policy:
    """Return the policy for thresholds, of which None means not given, and permissions."""
    thresholds = {"min_score": min_score, "min_confidence": min_confidence, "truth": min_branch}
    for name, value in thresholds.items():
        if value is not None and (not isinstance(value, int | float) or not 0 <= value <= 1):
            raise ConfigurationError(f"{name} is {value!r}", fix="it must be from 0 to 1")
    if not isinstance(top_k, Integral) or isinstance(top_k, bool) or top_k < 1:
        raise ConfigurationError(f"top_k is {top_k!r}", fix="it must be a whole number above zero")
    switches = {
        "exact_only": exact_only,
        "allow_moves": allow_moves,
        "allow_merges": allow_merges,
    }
    for name, is_on in switches.items():
        if not isinstance(is_on, bool):
            raise ConfigurationError(f"{name} is {is_on!r}", fix="it must be True or False")
    if min_score or min_confidence:
        return Exact(
            confidence=min_confidence,
            score=min_score,
            is_asked_for=True,
            top_k=top_k,
            allow_moves=allow_moves,
            allow_merges=allow_merges,
        )
    if min_score is not None or min_confidence is not None:
        return Everything(top_k=top_k, allow_moves=allow_moves, allow_merges=allow_merges)
    if exact_only or top_k > 1:
        return Exact(top_k=top_k, allow_moves=allow_moves, allow_merges=allow_merges)
    return Deepest(truth=min_branch, allow_moves=allow_moves, allow_merges=allow_merges)


def policy_of_options(options: AcceptanceOptions, suggestions: Iterable[Suggestion] = ()) -> Policy:
    """Return the policy of the options for suggestions, which say from where on a place is sure."""
    known = (s.sure_from for s in suggestions if s.sure_from is not None)
    return policy_of(
        min_branch=next(known, DEFAULT_TRUTH),
        top_k=options.top_k,
        min_score=options.min_score,
        min_confidence=0.0 if options.all else options.min_confidence,
        exact_only=isinstance(options, ExpandOptions) and options.exact_only,
        allow_moves=options.allow_moves,
        allow_merges=options.allow_merges,
    )
