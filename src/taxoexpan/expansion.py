"""The use case from file to file, without printing: train, suggest, decide and write."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from taxoexpan.config import (
    Settings,
    changed_settings,
    check_setting_name,
    load_preset,
    settings_without_effect,
)
from taxoexpan.decisions.additions import AppliedSuggestions
from taxoexpan.decisions.applying import apply_decisions
from taxoexpan.decisions.decision import Decision, decide, fitted, marked
from taxoexpan.decisions.policies import Deepest, Policy, policy_of_options
from taxoexpan.decisions.suggestion import Suggestion, Verdict
from taxoexpan.decisions.suggestion_tables import suggestions_csv
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.explain import Evidence
from taxoexpan.features.glossary.glossary import (
    LookedUpDefinitions,
    look_up_definitions,
)
from taxoexpan.files import (
    check_directory,
    output_lock,
    preflight,
    refuse_inside,
    write_whole,
)
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.formats.taxonomy_file import TaxonomyFile, read_options
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import OWN as MODEL_FILES
from taxoexpan.option_declarations import declared_options
from taxoexpan.placement.learned.calibrators import (
    Calibrators,
    branch_threshold,
    confidence_threshold,
    refuse_missing_confidence,
)
from taxoexpan.shared_options import ExpandOptions, TrainingOptions
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_policy import IdPolicy
from taxoexpan.taxonomy.known_names import FilteredConcepts, filter_known_names
from taxoexpan.thresholds import DEFAULT_TRUTH

NUM_RANKED = 5
"""Parents that are ranked per concept, if no more are accepted."""


def check_training(options: TrainingOptions) -> None:
    """Refuse invalid settings, and warn about settings without effect, before any work."""
    settings = changed_settings(options, options.epochs)
    config = load_preset(options.preset, **settings)
    for name, reason in settings_without_effect(config, settings).items():
        warnings.warn(f"{name} has no effect, because {reason}", stacklevel=2)


def new_model(options: TrainingOptions) -> TaxoExpan:
    """Return an untrained model with the settings of the options."""
    settings = changed_settings(options, options.epochs)
    return TaxoExpan(options.preset, options.seed or 0, options.device, **settings)


@dataclass
class Expansion:
    """An expansion whose inputs were checked; the steps fill the later fields.

    Definitions from a glossary help to place concepts, but are not written to the expanded file.
    """

    options: ExpandOptions
    policy: Policy
    ids: IdPolicy
    file: TaxonomyFile
    concepts: FilteredConcepts
    looked_up: LookedUpDefinitions | None = None
    suggestions: list[Suggestion] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    calibrators: Calibrators = field(default_factory=Calibrators)

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy before the expansion."""
        return self.file.taxonomy

    @property
    def training_taxonomy(self) -> Taxonomy:
        """The taxonomy to train on, with definitions from the glossary if there is one."""
        return self.looked_up.taxonomy if self.looked_up else self.taxonomy

    @property
    def queries(self) -> Sequence[Concept]:
        """The new concepts, with definitions from the glossary if there is one."""
        return self.looked_up.new if self.looked_up else self.concepts.new

    @property
    def truth(self) -> float:
        """The requested fraction of true placements."""
        return DEFAULT_TRUTH if self.options.truth is None else self.options.truth

    def fitted_policy(self) -> Policy:
        """Return the policy with the threshold that the model has learned."""
        precision = self.options.accept_at_precision
        if precision is not None and self.suggestions:
            kept = f"; taxoexpan apply with {self.options.suggestions_file} needs no further"
            threshold = confidence_threshold(self.calibrators, precision, f"{kept} training")
            options = replace(self.options, min_confidence=threshold, accept_at_precision=None)
            return policy_of_options(options)
        if isinstance(self.policy, Deepest):
            return replace(self.policy, truth=branch_threshold(self.calibrators, self.truth))
        return self.policy


class ExpansionObserver:
    """An observer of an expansion; subclasses override the steps that they report."""

    shows_progress = False

    def prepared(self, expansion: Expansion) -> None:
        """Report that the inputs were read and checked."""

    def training(self, expansion: Expansion, model: TaxoExpan) -> None:
        """Report that the training begins."""

    def trained(self, model: TaxoExpan) -> None:
        """Report that the model is trained."""

    def placed(self, expansion: Expansion) -> None:
        """Report that the parents of the new concepts are ranked."""

    def saved(self, what: str, path: Path) -> None:
        """Report that an output besides the expanded taxonomy was written."""

    def applied(self, expansion: Expansion, applied: AppliedSuggestions) -> None:
        """Report that the expanded taxonomy was written."""


def expand(options: ExpandOptions, observer: ExpansionObserver | None = None) -> AppliedSuggestions:
    """Expand a taxonomy file as `expand_file` does, and report each step to an observer."""
    observer = observer or ExpansionObserver()
    check_training(options)
    with output_lock(options.output):
        expansion = _prepare(options, observer.shows_progress)
        observer.prepared(expansion)
        if expansion.concepts.new or options.model:
            _place(expansion, _trained_model(expansion, observer), observer)
        _decide(expansion, observer)
        applied = _write(expansion)
        observer.applied(expansion, applied)
        if options.report:
            _write_report(expansion, applied, options.report)
            observer.saved("report", options.report)
        return applied


class ExpandFileOptions(Settings, total=False):
    """The options of `expand_file`: those of `taxoexpan expand`, and the settings.

    Examples:
        >>> from taxoexpan import ExpandFileOptions
        >>> options: ExpandFileOptions = {"preset": "fast", "top_k": 2, "force": True}
    """

    together: bool
    report: str | Path | None
    glossary: str | Path | None
    device: str
    settings: tuple[str | tuple[str, Any], ...]
    preset: str
    seed: int | None
    quiet: bool
    id_start: int | None
    id_range: tuple[int, int] | None
    id_template: str | None
    top_k: int
    min_score: float | None
    min_confidence: float | None
    all: bool
    allow_moves: bool
    allow_merges: bool
    format: str | None
    language: str | None
    columns: str | Mapping[str, str | int] | None
    codes: str | None
    separator: str | None
    sheet: str | None
    instances: bool
    force: bool
    truth: float | None
    exact_only: bool
    accept_at_precision: float | None
    suggestions: str | Path | None
    model: str | Path | None


def expand_file(
    taxonomy: str | Path,
    new: str | Path,
    output: str | Path,
    **options: Unpack[ExpandFileOptions],
) -> AppliedSuggestions:
    """Train on a taxonomy file, place the concepts of a list, and write the expanded file.

    Every byte of the old file is kept, unless moves or merges are allowed. By default, a concept
    is placed as deep as it is right with the probability `truth` (0.9), if a confidence could be
    learned, and concepts without a sure or suitable place are not written. `exact_only`,
    `min_score`, `min_confidence` and `accept_at_precision` replace this rule; `all=True` writes
    all concepts.

    All suggestions, accepted or undecided, are written to `suggestions`, or by default next to the
    output (`topics-v2.suggestions.csv` for `topics-v2.ttl`).

    Args:
        taxonomy: the taxonomy file.
        new: the list of new concepts.
        output: the file to write.
        options: the options of `taxoexpan expand`, with underscores, such as `top_k=2`. Other names
            change single settings of the preset, such as `hidden_dim=64`.

    Examples:
        >>> from taxoexpan import expand_file, read_taxonomy
        >>> files = ("examples/instruments.ttl", "examples/new-instruments.csv", "larger.ttl")
        >>> applied = expand_file(*files, preset="fast", quiet=True, min_confidence=0)
        >>> len(read_taxonomy("larger.ttl")) - len(read_taxonomy("examples/instruments.ttl"))
        11
    """
    known = declared_options(ExpandOptions)
    settings = tuple((name, value) for name, value in options.items() if name not in known)
    for name, _ in settings:
        check_setting_name(name, [*known, "quirks"])
    given: dict[str, Any] = {name: value for name, value in options.items() if name in known}
    given["settings"] = (*options.get("settings", ()), *settings)
    files: dict[str, Any] = {"taxonomy": taxonomy, "new": new, "output": output}
    return expand(ExpandOptions(**files, **given))


def _prepare(options: ExpandOptions, progress: bool) -> Expansion:
    """Read the inputs, and refuse content that could not be written after the training."""
    policy = policy_of_options(options)
    ids = IdPolicy.of(options)
    _refuse_outputs(options)
    file = TaxonomyFile.open(options.taxonomy, options.format, read_options(options))
    file.refuse_unused_options()
    changes = policy.allowed_changes
    file.check_changes(changes)
    listed = read_concepts(options.new)
    file.refuse_other_language(options.new, listed)
    concepts = filter_known_names(file.taxonomy, listed, ids)
    file.can_hold(
        concepts.new,
        max_parents=policy.top_k,
        output=options.output,
        changes=changes,
        force=options.force,
        ids=ids,
    )
    looked_up = None
    if options.glossary:
        looked_up = look_up_definitions(options.glossary, file.taxonomy, concepts.new, progress)
    return Expansion(options, policy, ids, file, concepts, looked_up)


def _refuse_outputs(options: ExpandOptions) -> None:
    """Refuse outputs that would overwrite each other or an input."""
    if options.report and options.model:
        refuse_inside(options.report, options.model)
    table = options.suggestions_file
    if options.suggestions is None and table.exists() and not options.force:
        message = "already exists, and the suggestions would be written there"
        fix = "choose another file, or overwrite it with force"
        raise FormatError(table, message, fix=fix, option="suggestions")
    others = [table, *filter(None, (options.report, options.model))]
    inputs = [options.new, *filter(None, [options.glossary])]
    preflight([options.output, *others], inputs, options.force)
    preflight(others, [options.taxonomy], options.force)
    if options.model:
        check_directory(options.model, MODEL_FILES, options.force)
    if options.report:
        refuse_inside(options.report, options.taxonomy, "is an input")


def _trained_model(expansion: Expansion, observer: ExpansionObserver) -> TaxoExpan:
    """Train a model, unless a threshold needs a confidence that cannot be learned."""
    options = expansion.options
    taxonomy = expansion.training_taxonomy
    model = new_model(options)
    if options.accept_at_precision is not None or options.min_confidence:
        refuse_missing_confidence(expansion.taxonomy, model.config)
    observer.training(expansion, model)
    model.fit(taxonomy, progress=observer.shows_progress)
    observer.trained(model)
    return model


def _place(expansion: Expansion, model: TaxoExpan, observer: ExpansionObserver) -> None:
    """Rank parents for the new concepts; save the model if requested."""
    options = expansion.options
    new = expansion.queries
    expansion.calibrators = model.calibrators
    top_k = max(NUM_RANKED, expansion.policy.top_k)
    if options.together:
        expansion.suggestions = model.suggest_together(new).flat
    elif options.report:
        expansion.suggestions, expansion.evidence = model.suggest_with_evidence(new, top_k)
    else:
        expansion.suggestions = model.suggest(new, top_k).flat
    if options.model:
        model.save(options.model, options.force)
        observer.saved("model", options.model)
    observer.placed(expansion)


def _decide(expansion: Expansion, observer: ExpansionObserver) -> None:
    """Decide by the policy, and write all suggestions even if no threshold was found."""
    suggestions = expansion.suggestions
    try:
        expansion.policy = fitted(expansion.fitted_policy(), suggestions)
        expansion.decisions = decide(expansion.taxonomy, suggestions, expansion.policy)
        expansion.suggestions = marked(suggestions, expansion.decisions)
    except ConfigurationError:
        expansion.suggestions = [replace(s, decision=Verdict.UNDECIDED) for s in suggestions]
        raise
    finally:
        _write_suggestions(expansion, observer)


def _write_suggestions(expansion: Expansion, observer: ExpansionObserver) -> None:
    """Write the suggestions; if that fails, write them to a file next to it and raise an error."""
    options = expansion.options
    path = expansion.options.suggestions_file
    if not expansion.concepts.new and not options.suggestions:
        return
    content = suggestions_csv(expansion.suggestions).encode()
    try:
        write_whole({path: content}, options.force)
    except FormatError as error:
        other = path.with_name(f"{path.stem}-{os.getpid()}{path.suffix}")
        write_whole({other: content})
        kept = f"the suggestions are in {other}, and taxoexpan apply adds them without training"
        raise FormatError(path, error.problem, fix=kept) from None
    observer.saved("suggestions", path)


def _write(expansion: Expansion) -> AppliedSuggestions:
    """Write the expanded taxonomy."""
    options = expansion.options
    listed = {concept.id: concept for concept in expansion.concepts.new}
    # Without the definitions from the glossary.
    decisions = [replace(each, query=listed[each.query.id]) for each in expansion.decisions]
    return apply_decisions(expansion.file, decisions, options.output, expansion.ids, options.force)


def _write_report(expansion: Expansion, applied: AppliedSuggestions, path: Path) -> None:
    """Write a report on the suggestions and the additions."""
    from taxoexpan.report.page import render
    from taxoexpan.report.suggestions_page import joint_page, suggestions_page

    options = expansion.options
    taxonomy = expansion.taxonomy
    suggestions = expansion.suggestions
    title = f"{options.new.name} in {options.taxonomy.name}"
    about = (title, datetime.now(UTC), expansion.concepts.present, applied.additions)
    if options.together:
        page = joint_page(taxonomy, suggestions, *about)
    else:
        evidence = expansion.evidence
        calibrators = expansion.calibrators
        page = suggestions_page(taxonomy, suggestions, evidence, calibrators, *about)
    write_whole({path: render(page).encode()}, options.force)
