"""The file-to-file use cases: expand a taxonomy file, and apply suggestions to one.

Functions here return results and print nothing; `cli` reports them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.explain import Evidence
from taxoexpan.features.glossary.definition_lookup import (
    LookedUpDefinitions,
    look_up_definitions,
)
from taxoexpan.files import (
    STANDARD_STREAM,
    check_directory,
    output_lock,
    preflight,
    refuse_inside,
    write_whole,
)
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.formats.tables.formulas import is_computed_file, protect_additions
from taxoexpan.formats.taxonomy_file import TaxonomyFile, WrittenFiles
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import OWN as MODEL_FILES
from taxoexpan.placement.adding.acceptance import (
    DEFAULT_ACCEPTANCE,
    Acceptance,
    decide,
    leave_undecided,
)
from taxoexpan.placement.adding.additions import AcceptedSuggestions, accept_suggestions
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.missing_confidence import (
    confidence_threshold,
    refuse_missing_confidence,
)
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.placement.suggesting.tables import suggestions_csv
from taxoexpan.taxonomy import Additions, Concept, Provenance, Taxonomy
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.known_names import FilteredConcepts, filter_known_names

NUM_RANKED = 5
"""Parents that are ranked per concept, if no more are accepted."""
SUGGESTIONS_SUFFIX = ".suggestions.csv"
"""How the name of the file of suggestions ends, if it has the name of the output."""


@dataclass(frozen=True)
class AppliedSuggestions:
    """The accepted suggestions, and the files that were written."""

    accepted: AcceptedSuggestions
    written: WrittenFiles
    protected: int = 0
    """The number of new texts that got an apostrophe, because a spreadsheet would compute them."""

    @property
    def additions(self) -> Additions:
        """The concepts, relations, moves and synonyms that were written."""
        return self.accepted.additions


def apply_suggestions(
    file: TaxonomyFile,
    suggestions: Sequence[Suggestion],
    output: Path | None,
    acceptance: Acceptance,
    force: bool = False,
    keep_formulas: bool = False,
) -> AppliedSuggestions:
    """Write the taxonomy of a file with the accepted suggestions added to it.

    Without an output, nothing is written; the result has the insertions into the file.
    In a CSV file, new texts that a spreadsheet would compute get an apostrophe, unless
    `keep_formulas` is set.
    """
    accepted = accept_suggestions(file.taxonomy, suggestions, acceptance)
    additions = replace(accepted.additions, provenance=_provenance(accepted.suggestions))
    protected = 0
    if not keep_formulas and is_computed_file(file.format, file.path):
        additions, protected = protect_additions(file.taxonomy, additions)
    accepted = replace(accepted, additions=additions)
    return AppliedSuggestions(accepted, file.write(additions, output, force), protected)


def _provenance(suggestions: Sequence[Suggestion]) -> Provenance:
    """Record what placed the concepts, and when; a row without a rank is a person's decision."""
    reasons = {
        (s.parent.id, s.query.id): f"{s.measure} {s.confidence_or_score:.2f}"
        for s in suggestions
        if s.rank
    }
    return Provenance(f"taxoexpan {version('taxoexpan')}", datetime.now(UTC), reasons)


@dataclass(frozen=True, kw_only=True)
class ExpansionRequest:
    """A taxonomy file, a list of new concepts, the outputs, and what to accept.

    Without a threshold in `acceptance`, `decide` says what is accepted. `accept_at_precision` sets
    the confidence threshold at which this fraction of the held-out concepts was right. `together`
    places all new concepts jointly. `report` is only checked here, with the other outputs.
    Definitions from a `glossary` help to place concepts, and are not written to the expanded file.
    """

    taxonomy: Path
    new: Path
    output: Path
    suggestions: Path | None = None
    model: Path | None = None
    report: Path | None = None
    force: bool = False
    acceptance: Acceptance = DEFAULT_ACCEPTANCE
    accept_at_precision: float | None = None
    together: bool = False
    glossary: Path | None = None
    format: str | None = None
    read_options: ReadOptions = DEFAULT_OPTIONS
    keep_formulas: bool = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        a, precision = self.acceptance, self.accept_at_precision
        if precision is not None and not 0 <= precision <= 1:
            raise ConfigurationError(
                f"accept_at_precision is {precision!r}; it must be from 0 to 1"
            )
        if precision is not None and a.min_confidence is not None:
            message = "a minimum confidence and a precision both set a threshold; give one of them"
            raise ConfigurationError(message, "accept_at_precision")
        if self.together and (a.allow_moves or a.allow_merges):
            message = "placing together proposes no moves and no merges; do not allow them"
            raise ConfigurationError(message, "together")
        if self.together and self.needs_confidence:
            message = "placing together computes no confidence, so it cannot have a threshold"
            raise ConfigurationError(f"{message}; omit one of the two", "together")

    @property
    def suggestions_file(self) -> Path:
        """Where the suggestions are written: by default next to the output."""
        if self.suggestions is None and self.output == STANDARD_STREAM:
            message = "standard output has no place for the suggestions next to it"
            raise ConfigurationError(f"{message}; give a file", "suggestions")
        return self.suggestions or self.output.with_suffix(SUGGESTIONS_SUFFIX)

    @property
    def needs_confidence(self) -> bool:
        """Whether a given threshold needs a confidence."""
        return self.accept_at_precision is not None or bool(self.acceptance.min_confidence)


@dataclass(frozen=True)
class PlacedConcepts:
    """The suggestions for all new concepts, the evidence if requested, and the calibrators."""

    suggestions: list[Suggestion]
    evidence: list[Evidence]
    calibrators: Calibrators


@dataclass(frozen=True)
class Expansion:
    """An expansion whose inputs were read and checked.

    `place`, `decide` and `write` are its next steps.
    """

    request: ExpansionRequest
    file: TaxonomyFile
    concepts: FilteredConcepts
    looked_up: LookedUpDefinitions | None = None

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy before the expansion."""
        return self.file.taxonomy

    @property
    def training_taxonomy(self) -> Taxonomy:
        """The taxonomy to train on: it has the definitions from the glossary, if there is one."""
        return self.looked_up.taxonomy if self.looked_up else self.taxonomy

    @property
    def queries(self) -> Sequence[Concept]:
        """The new concepts, with their definitions from the glossary, if there is one."""
        return self.looked_up.new if self.looked_up else self.concepts.new

    @property
    def needs_model(self) -> bool:
        """Whether a model has to be trained: there are new concepts, or it is to be kept."""
        return bool(self.concepts.new) or self.request.model is not None

    def place(self, model: TaxoExpan | None) -> PlacedConcepts:
        """Rank parents for the new concepts; save the model if requested."""
        if model is None:
            return PlacedConcepts([], [], Calibrators())
        placed = self._rank(model)
        if self.request.model:
            model.save(self.request.model, self.request.force)
        return placed

    def decide(self, placed: PlacedConcepts) -> PlacedConcepts:
        """Mark the suggestions as accepted or undecided, and write them to their file.

        They are written even if the requested threshold does not exist: all undecided.
        """
        try:
            acceptance = replace(self.request.acceptance, min_confidence=self.threshold(placed))
            suggestions = decide(placed.suggestions, acceptance)
        except ConfigurationError:
            self._write_suggestions(leave_undecided(placed.suggestions))
            raise
        self._write_suggestions(suggestions)
        return replace(placed, suggestions=suggestions)

    def _write_suggestions(self, suggestions: Sequence[Suggestion]) -> None:
        if self.writes_suggestions:
            content = suggestions_csv(suggestions, self.request.keep_formulas).encode()
            path, force = self.request.suggestions_file, self.request.force
            write_whole({path: content}, force)

    @property
    def writes_suggestions(self) -> bool:
        """Whether there is a file of suggestions: there are new concepts, or it is requested."""
        return bool(self.concepts.new) or self.request.suggestions is not None

    def _rank(self, model: TaxoExpan) -> PlacedConcepts:
        request, new = self.request, self.queries
        top_k = max(NUM_RANKED, request.acceptance.top_k)
        evidence: list[Evidence] = []
        if request.together:
            suggestions = model.suggest_together(new)
        elif request.report:
            suggestions, evidence = model.suggest_with_evidence(new, top_k)
        else:
            suggestions = model.suggest(new, top_k)
        return PlacedConcepts(suggestions, evidence, model.calibrators)

    def threshold(self, placed: PlacedConcepts) -> float | None:
        """Return the confidence at or above which suggestions are accepted, if one is requested."""
        request = self.request
        if request.accept_at_precision is None or not placed.suggestions:
            return request.acceptance.min_confidence
        kept = f"; taxoexpan apply with {request.suggestions_file} needs no further training"
        return confidence_threshold(placed.calibrators, request.accept_at_precision, kept)

    def write(self, placed: PlacedConcepts) -> AppliedSuggestions:
        """Write the expanded taxonomy with the accepted suggestions."""
        # The decisions are made: they are applied as `apply` does it with the file of suggestions.
        acceptance = replace(self.request.acceptance, min_score=None, min_confidence=None)
        output, force = self.request.output, self.request.force
        suggestions = self._without_glossary(placed.suggestions)
        keep = self.request.keep_formulas
        return apply_suggestions(self.file, suggestions, output, acceptance, force, keep)

    def _without_glossary(self, suggestions: Sequence[Suggestion]) -> Sequence[Suggestion]:
        """Return the suggestions with the queries as they were listed, to be written."""
        if self.looked_up is None:
            return suggestions
        listed = {concept.id: concept for concept in self.concepts.new}
        return [replace(each, query=listed[each.query.id]) for each in suggestions]


def prepare_expansion(request: ExpansionRequest, progress: bool = False) -> Expansion:
    """Read the inputs and refuse, before any training, what could not be written afterwards.

    With `progress`, a bar is shown while a large glossary is read.
    """
    _refuse_outputs(request)
    file = TaxonomyFile.open(request.taxonomy, request.format, request.read_options)
    file.refuse_unused_options()
    changes = request.acceptance.allowed_changes
    file.check_changes(changes)
    ids = request.acceptance.ids
    concepts = filter_known_names(file.taxonomy, read_concepts(request.new), ids)
    file.can_hold(
        concepts.new,
        max_parents=request.acceptance.top_k,
        output=request.output,
        changes=changes,
        force=request.force,
        ids=ids,
    )
    looked_up = None
    if request.glossary:
        looked_up = look_up_definitions(request.glossary, file.taxonomy, concepts.new, progress)
    return Expansion(request, file, concepts, looked_up)


def _refuse_outputs(request: ExpansionRequest) -> None:
    """Refuse outputs that would overwrite each other or an input."""
    if request.report and request.model:
        refuse_inside(request.report, request.model)
    table = request.suggestions_file
    if request.suggestions is None and table.exists() and not request.force:
        message = "already exists, and the suggestions would be written there"
        fix = "choose another file, or overwrite it with force"
        raise FormatError(table, f"{message}; {fix}", option="suggestions")
    others = [p for p in (table, request.report, request.model) if p is not None]
    inputs = [request.new, *([request.glossary] if request.glossary else [])]
    preflight([request.output, *others], inputs, request.force)
    preflight(others, [request.taxonomy], request.force)
    if request.model:
        check_directory(request.model, MODEL_FILES, request.force)
    if request.report:
        refuse_inside(request.report, request.taxonomy, "is an input")


def expand_file(
    taxonomy: str | Path,
    new: str | Path,
    output: str | Path,
    *,
    preset: str = "best",
    seed: int = 0,
    device: str = "auto",
    top_k: int = 1,
    min_score: float | None = None,
    min_confidence: float | None = None,
    accept_at_precision: float | None = None,
    allow_moves: bool = False,
    allow_merges: bool = False,
    together: bool = False,
    glossary: str | Path | None = None,
    suggestions: str | Path | None = None,
    model: str | Path | None = None,
    force: bool = False,
    ids: IdPolicy = DEFAULT_IDS,
    **settings: Any,
) -> AppliedSuggestions:
    """Train on a taxonomy file, place the concepts of a list, and write the expanded file.

    Every byte of the old file is kept, unless moves or merges are allowed. By default, concepts
    without a suitable parent are not written, nor placements with a confidence below 0.5, if a
    confidence could be learned. `min_score`, `min_confidence` and `accept_at_precision` replace
    this rule; `min_confidence=0` writes all concepts.

    The suggestions say what was accepted and what is undecided. They are written to `suggestions`,
    or next to the output (`OUT.suggestions.csv`). `model` is a further output. Definitions
    from a `glossary` help to place concepts, and are not written to the file. `ids` says how new
    concepts without an id get one. `settings` change single settings of the preset.
    """
    for name, path in (("taxonomy", taxonomy), ("new", new), ("output", output)):
        if not isinstance(path, str | Path):
            raise ConfigurationError(f"{name} is {path!r}; it must be the path of a file")
    request = ExpansionRequest(
        taxonomy=Path(taxonomy),
        new=Path(new),
        output=Path(output),
        suggestions=None if suggestions is None else Path(suggestions),
        model=None if model is None else Path(model),
        force=force,
        acceptance=Acceptance(
            top_k=top_k,
            min_score=min_score,
            min_confidence=min_confidence,
            allow_moves=allow_moves,
            allow_merges=allow_merges,
            ids=ids,
        ),
        accept_at_precision=accept_at_precision,
        together=together,
        glossary=None if glossary is None else Path(glossary),
    )
    untrained = TaxoExpan(preset, seed, device, **settings)
    with output_lock(request.output):
        expansion = prepare_expansion(request)
        trained = None
        if expansion.needs_model:
            if request.needs_confidence:
                refuse_missing_confidence(expansion.taxonomy, untrained.config)
            trained = untrained.fit(expansion.training_taxonomy, expected=expansion.queries)
        return expansion.write(expansion.decide(expansion.place(trained)))
