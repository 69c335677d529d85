"""The model: `TaxoExpan` learns from a taxonomy and suggests parents for new concepts."""

from __future__ import annotations

import logging
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, Unpack

import numpy as np
from numpy.typing import NDArray

from taxoexpan.archive import Archive, load_archive, new_archive, save_archive
from taxoexpan.config import Settings, load_preset
from taxoexpan.decisions.additions import to_additions
from taxoexpan.decisions.decision import Reason, decide
from taxoexpan.decisions.feedback import Feedback
from taxoexpan.decisions.policies import policy_of
from taxoexpan.decisions.suggestion import Suggestion, grouped_by_position
from taxoexpan.decisions.suggestions import Suggestions
from taxoexpan.device import choose_device
from taxoexpan.errors import ModelError
from taxoexpan.explain import Evidence, with_reasons
from taxoexpan.explain import explain as explain_ranking
from taxoexpan.explain.explanation import SuggestedBlock
from taxoexpan.features.embedding import warn_of_language, warn_of_weak_texts
from taxoexpan.features.encoder import Vectors
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.mentions import Lexicon, resolve_mentions
from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.network.text_tower import TextTower
from taxoexpan.option_declarations import PATH, SEED, SWITCH, check_type
from taxoexpan.phrasing import join_counts, pluralize, visible
from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy, apply_feedback
from taxoexpan.placement.fitting.preparation import (
    HOLD_OUT,
    PreparedTaxonomy,
    StartingPoint,
    check_inputs,
    estimate_stages,
    prepare_refit,
    prepare_taxonomy,
    refuse_other_holdout,
    refuse_other_taxonomy,
)
from taxoexpan.placement.fitting.session import (
    FittedParts,
    FittingOutputs,
    fit_parts,
)
from taxoexpan.placement.fitting.updating import TaxonomyGrowth, UpdateReport
from taxoexpan.placement.joint.placement import suggest_jointly
from taxoexpan.placement.joint.prior_learning import learn_new_parent_priors
from taxoexpan.placement.learned.calibration import (
    held_out_queries,
    measure_reliability,
    remaining_ranker,
)
from taxoexpan.placement.learned.calibrators import Calibrators, branch_threshold
from taxoexpan.placement.learned.confidence import Reliability
from taxoexpan.placement.proposals import Placer, with_similar
from taxoexpan.placement.scoring.anchors import Embedder
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.progress import Stages, is_terminal
from taxoexpan.shared_options import SUGGEST_DEFAULTS, SuggestOptions
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.known_names import filter_known_names
from taxoexpan.taxonomy.records import NewConcepts, new_concepts
from taxoexpan.thresholds import DEFAULT_TRUTH
from taxoexpan.training.continuation import DEFAULT_RECIPE, Recipe
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.record import History, TrainingRecord

logger = logging.getLogger("taxoexpan")


class TaxoExpan:
    """A model that learns from a taxonomy where concepts belong, and ranks parents for new ones.

    `preset` names the settings; keywords change single settings. The same seed on the same machine
    gives the same model, bit for bit.

    Examples:
        >>> from taxoexpan import TaxoExpan, read_taxonomy, write_taxonomy
        >>> instruments = read_taxonomy("examples/instruments.ttl")
        >>> model = TaxoExpan("fast", seed=0).fit(instruments)
        >>> model.suggest("talking drum")[0][0].parent.label
        'drums'
        >>> expanded = model.expand(["talking drum", "bass ukulele"], min_confidence=0)
        >>> write_taxonomy(expanded, "instruments-v2.ttl")
        >>> model.save("instruments.model")
        >>> model = TaxoExpan.load("instruments.model")
    """

    def __init__(
        self, preset: str = "best", seed: int = 0, device: str = "auto", **changes: Unpack[Settings]
    ) -> None:
        SEED.check("seed", seed)
        self.preset = preset
        self.seed = int(seed)  # it may be a number of numpy
        self.device = choose_device(device)
        self.config = self._requested = load_preset(preset, **changes)
        self.encoder = make_encoder(self.config.features, self.config.oov, str(self.device))
        self.history: History | None = None
        self.tower_history: History | None = None
        self._tower: TextTower | None = None
        self._reset(None)

    def _reset(self, archive: Archive | None) -> None:
        """Use another archive, and clear everything derived from the last one."""
        self._archive: Archive | None = archive
        self._cached_ranker: Ranker | None = None
        self._cached_lexicon: Lexicon | None = None

    def fit(
        self,
        taxonomy: Taxonomy,
        holdout: Holdout | None = None,
        progress: bool | None = None,
        log: str | Path | None = None,
        checkpoint: str | Path | None = None,
        tensorboard: str | Path | None = None,
    ) -> TaxoExpan:
        """Train on a taxonomy; some leaves (or `holdout`) are held out for early stopping.

        The order of concepts, relations and synonyms does not matter (`Taxonomy.canonical`), and
        nothing is learned from deprecated concepts. By default, progress is shown in a terminal
        and in a notebook. `log` gets one line of JSON per epoch; the
        directory `tensorboard` gets the same figures as curves, if TensorBoard is installed. After
        every epoch, the state is saved in `checkpoint`, and the state of the fine-tuning in
        `checkpoint`.tower; if these files exist, the training continues from them, with the same
        result as without the interruption.
        """
        progress = _shown(progress)
        outputs = FittingOutputs(
            progress,
            _path("log", log),
            _path("checkpoint", checkpoint),
            _path("tensorboard", tensorboard),
        )
        check_inputs(taxonomy, outputs.log, outputs.tensorboard)
        if holdout is not None:
            check_type("holdout", holdout, Holdout, HOLD_OUT)
        if checkpoint is not None and not self.has_checkpoints:
            reason = "epochs is 0, and the encoder is not fine-tuned"
            warnings.warn(f"checkpoint has no effect, because {reason}", stacklevel=2)
        taxonomy = taxonomy.canonical
        holdout = holdout and holdout.canonical
        warn_of_language(self.config.features, taxonomy.labels)
        began = time.monotonic()
        self.config = resolve_mentions(self._requested, taxonomy.active)
        self._tower = None  # of an earlier fit
        self.encoder.show_progress(progress)
        with Stages("training", estimate_stages(taxonomy, self._embedder), shown=progress):
            prepared = prepare_taxonomy(taxonomy, self._embedder, self.seed, holdout)
            parts = fit_parts(prepared, self._embedder, self.seed, outputs)
        self._keep(prepared, parts, began)
        return self

    @property
    def has_checkpoints(self) -> bool:
        """Whether the training saves its state in a checkpoint."""
        return self.config.epochs > 0 or self._embedder.tunes_encoder

    def refit(
        self,
        taxonomy: Taxonomy,
        feedback: Feedback | None = None,
        progress: bool | None = None,
        log: str | Path | None = None,
        tensorboard: str | Path | None = None,
        recipe: Recipe = DEFAULT_RECIPE,
    ) -> JudgedTaxonomy:
        """Continue the training on a taxonomy that has grown, and learn from decisions.

        The taxonomy is first expanded with the accepted concepts. Rejected parents become hard
        negatives, and are not suggested again. The settings and the vectors do not change. Return
        how the decisions were used; the model is not changed if the training fails.
        """
        archive = self._fitted()
        progress = _shown(progress)
        refuse_other_taxonomy(archive.taxonomy, taxonomy)
        if feedback is not None:
            fix = "collect suggestions: Feedback(accepted=[…], rejected=[…])"
            check_type("feedback", feedback, Feedback, fix)
        began = time.monotonic()
        judged = apply_feedback(taxonomy.canonical, feedback or Feedback())
        judged = replace(judged, taxonomy=judged.taxonomy.canonical)
        # The network has not learned from the concepts that updates have added.
        trained = archive.taxonomy.without(archive.growth.added)
        ranker = self._ranker_of(trained) if archive.growth.added else self._ranker
        start = StartingPoint(trained, archive.network, self.calibrators, ranker, archive.held_out)
        outputs = FittingOutputs(
            progress, _path("log", log), tensorboard=_path("tensorboard", tensorboard)
        )
        embedder = replace(self._embedder, config=recipe.apply_to(self.config))
        with Stages("training", estimate_stages(judged.taxonomy, embedder), shown=progress):
            prepared = prepare_refit(judged, start, self._embedder, recipe, self.seed)
            parts = fit_parts(prepared, embedder, self.seed, outputs)
        self._keep(prepared, parts, began)
        rejections = archive.rejections.joined(judged.rejections)
        self._reset(replace(self._fitted(), rejections=rejections))
        return judged

    def update(self, taxonomy: Taxonomy) -> UpdateReport:
        """Use a newer version of the taxonomy without training; only changes are encoded.

        The result is the same as if the network encoded the whole version. The model keeps all that
        it has learned. `growth` says how much the taxonomy has changed since the training.
        """
        refuse_other_taxonomy(self.taxonomy, taxonomy)
        updated, report = self._fitted().updated(taxonomy.canonical, self._embedder)
        self._reset(updated)
        return report

    def _keep(self, prepared: PreparedTaxonomy, parts: FittedParts, began: float) -> None:
        """Use the results of a training that started at `began`."""
        self.history = parts.history
        self.tower_history = parts.tower_history
        self._tower = parts.tower
        seconds = time.monotonic() - began
        self._reset(new_archive(self.preset, self.seed, self._embedder, prepared, parts, seconds))
        logger.info("trained on %d concepts in %.1f seconds", len(self.taxonomy), seconds)

    def suggest(self, concepts: NewConcepts, top_k: int = 5, explain: bool = False) -> Suggestions:
        """Rank the best parents of each new concept, best first.

        A concept whose name the taxonomy already has is left out, with a warning, and so is a name
        that is given twice, unless both have ids; case, spaces and hyphens do not matter. If the
        model has learned to detect duplicates, a likely synonym of an existing concept gets a
        suggestion to merge the two. With `explain`, first suggestions have an explanation.
        """
        options = SuggestOptions(top_k=top_k, explain=explain)
        return Suggestions(self.suggest_block(self._new_concepts(concepts), options).suggestions)

    def suggest_with_evidence(
        self, concepts: NewConcepts, top_k: int = 5
    ) -> tuple[list[Suggestion], list[Evidence]]:
        """Return explained suggestions, as `suggest` does, and the evidence for each concept.

        The evidence is about the parents, even if a merge has a higher rank.
        """
        options = SuggestOptions(top_k=top_k, explain=True)
        block = self.suggest_block(self._new_concepts(concepts), options)
        return block.suggestions, block.evidence

    def suggest_block(
        self, concepts: Sequence[Concept], options: SuggestOptions = SUGGEST_DEFAULTS
    ) -> SuggestedBlock:
        """Return the suggestions for a block of new concepts (see `query_blocks`).

        The concepts must have ids and be new, as `filter_known_names` returns them.
        """
        suggestions, queries, ranking = self._suggest(concepts, options)
        if not options.explain or not suggestions:
            return SuggestedBlock(suggestions, [])
        evidence = explain_ranking(self._ranker, queries, ranking)
        return SuggestedBlock(with_reasons(suggestions, evidence), evidence)

    def suggest_each(
        self, concepts: Sequence[Concept], options: SuggestOptions = SUGGEST_DEFAULTS
    ) -> list[list[Suggestion]]:
        """Return one list of suggestions per concept, each as if it were the only concept.

        Unlike `suggest`, this accepts repeated concepts and names that the taxonomy already has.
        """
        numbered = [replace(concept, id=str(i)) for i, concept in enumerate(concepts)]
        block = self.suggest_block(numbered, options)
        return grouped_by_position(block.suggestions, concepts)

    def _new_concepts(self, concepts: NewConcepts) -> Sequence[Concept]:
        """Return the concepts that the taxonomy does not have, and warn about the others."""
        filtered = filter_known_names(self.taxonomy, new_concepts(concepts))
        for concept, known in filtered.present:
            found = f"{concept.label!r} is already in the taxonomy ({visible(known.id)})"
            warnings.warn(f"{found}; not placed again", stacklevel=3)
        for concept in filtered.repeated:
            found = f"{concept.label!r} is given more than once"
            warnings.warn(f"{found}; only the first is placed", stacklevel=3)
        return filtered.new

    def _suggest(
        self, concepts: Sequence[Concept], options: SuggestOptions
    ) -> tuple[list[Suggestion], Queries, Ranking]:
        """Rank parents of any concepts, known or new."""
        queries = self._queries(concepts)
        if not len(queries):
            return [], queries, Ranking.empty()
        warn_of_weak_texts(queries.vectors.cpu().numpy(), concepts)
        archive = self._fitted()
        placer = Placer(self._ranker, archive.calibrators, archive.rejections)
        logger.debug("ranking parents for %d concepts", len(concepts))
        with archive.naming_directory():
            proposed, ranking = placer.suggest(queries, options)
        return proposed, queries, ranking

    def suggest_together(self, concepts: NewConcepts) -> Suggestions:
        """Suggest one parent for each concept of a batch; a parent may be another new concept.

        All concepts are placed at once: their order does not matter, and no cycle can occur. A
        model without new-parent priors learns them first (see `fit_joint_prior`).
        """
        new = with_ids(self.taxonomy, new_concepts(concepts))
        if not new:
            return Suggestions([])
        warn_of_weak_texts(self._embedder.array(new), new)
        if self.calibrators.joint_priors is None:
            self.fit_joint_prior()
        priors = self.calibrators.joint_priors or ()
        with self._fitted().naming_directory():
            joint = suggest_jointly(self.taxonomy, self._ranker, self._embedder, new, priors)
        return Suggestions(each for one in joint for each in with_similar(self.taxonomy, [one]))

    def fit_joint_prior(self) -> TaxoExpan:
        """Learn the new-parent priors of joint placement from the taxonomy's own subtrees.

        `suggest_together` does this on first use. `save` stores the priors.
        """
        priors = learn_new_parent_priors(self._ranker, self.seed)
        learned = replace(self.calibrators, joint_priors=priors)
        self._archive = replace(self._fitted(), calibrators=learned)
        return self

    def expand(
        self,
        concepts: NewConcepts,
        top_k: int = 1,
        min_score: float | None = None,
        min_confidence: float | None = None,
        truth: float = DEFAULT_TRUTH,
        exact_only: bool = False,
        allow_moves: bool = False,
        allow_merges: bool = False,
    ) -> Taxonomy:
        """Return the taxonomy with the new concepts as deep below their best parents as is sure.

        By default, a concept is placed at the deepest concept on the path of its first suggestion
        whose branch is sure to contain the true parent, so that the fraction `truth` of such
        placements is true. It is left out if that would be a root, or if it has no suitable
        parent; a warning says how many are. With
        `exact_only`, or several parents, first suggestions with a confidence of 0.5 are accepted.
        `min_score` and `min_confidence` replace these rules; `min_confidence=0` adds all concepts.

        With `allow_moves`, children named after a new concept move below it. With `allow_merges`,
        likely synonyms of existing concepts are added as synonyms. All else stays as it is.
        """
        policy = policy_of(
            top_k=top_k,
            min_score=min_score,
            min_confidence=min_confidence,
            min_branch=branch_threshold(self.calibrators, truth),
            exact_only=exact_only,
            allow_moves=allow_moves,
            allow_merges=allow_merges,
        )
        suggestions = self.suggest(concepts, top_k).flat
        applied = to_additions(self.taxonomy, decide(self.taxonomy, suggestions, policy))
        left = applied.left(Reason.SIMILAR, Reason.NO_PARENT, Reason.NOT_SURE)
        if left:
            message = f"{pluralize(len(left), 'concept')} left out"
            reasons = join_counts(Counter(each.reason.value for each in left))
            fix = "min_confidence=0 adds all that are not similar to an existing concept"
            warnings.warn(f"{message}: {reasons}; {fix}", stacklevel=2)
        return self.taxonomy.expanded(applied.additions)

    def embed(self, concepts: NewConcepts) -> Vectors:
        """Return the vectors of concepts by the encoder, one unit vector per row: [N] → [N, D].

        A vector is the mean of the names, plus the definition if there is one; it is zero if the
        encoder knows no word of them. No training is needed.
        """
        vectors: Vectors = self._embedder.array(new_concepts(concepts))[0]
        return vectors

    def evaluate(self, holdout: Holdout) -> Metrics:
        """Rank the true parents of held-out concepts in the remaining taxonomy."""
        return compute_metrics(self.true_ranks(holdout))

    def true_ranks(self, holdout: Holdout) -> list[NDArray[np.floating]]:
        """Return the rank of each true parent of each held-out concept in the remaining taxonomy.

        The other true parents of the concept are not counted, and half of the anchors with the same
        score count as higher.
        """
        ranker, queries = self._held_out(holdout)
        return ranker.true_ranks(queries)

    def reliability(self, holdout: Holdout) -> Reliability | None:
        """Compare the confidence in first suggestions for held-out concepts with the truth.

        A suggestion is correct if it is any of the true parents. The result is None if the model
        has not learned a confidence.
        """
        calibration = self.calibrators.calibration
        if calibration is None:
            return None
        return measure_reliability(*self._held_out(holdout), calibration)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Save the model to a directory; `force` replaces an existing model.

        The taxonomy is saved with it, but not the file that the taxonomy came from: after loading,
        name that file as the `source` of `write_taxonomy` to keep its bytes.
        """
        PATH.check("path", path)
        SWITCH.check("force", force)
        save_archive(self._fitted(), Path(path), force)
        logger.info("saved the model to %s", path)

    def __copy__(self) -> TaxoExpan:
        """Return a model that shares all parts; fitting or updating one leaves the other as is."""
        same = TaxoExpan.__new__(TaxoExpan)
        vars(same).update(vars(self))
        return same

    def __reduce__(self) -> NoReturn:
        """Refuse to pickle the model: a pickle can run any code when it is loaded."""
        raise ModelError("a model cannot be pickled", fix="use save and load")

    def __deepcopy__(self, memo: object) -> NoReturn:
        """Refuse to copy the parts, which nothing changes."""
        fix = "use copy.copy: fitting or updating one of the two leaves the other as is"
        raise ModelError("a model cannot be copied deeply", fix=fix)

    @classmethod
    def load(cls, path: str | Path, device: str = "auto", features: str | None = None) -> TaxoExpan:
        """Load a saved model; give `features` if the file of its vectors has moved."""
        PATH.check("path", path)
        model = cls.from_archive(load_archive(Path(path), features, device), device)
        logger.info("loaded a model of %d concepts from %s", len(model.taxonomy), path)
        return model

    @classmethod
    def from_archive(cls, archive: Archive, device: str = "auto") -> TaxoExpan:
        """Return a model with the parts of a loaded archive."""
        model = cls.__new__(cls)
        model.preset = archive.preset
        model.seed = archive.seed
        model.config = model._requested = archive.config
        model.device = choose_device(device)
        model.encoder = archive.encoder
        model.history = model.tower_history = None
        model._tower = None if archive.tower is None else archive.tower.to(model.device)
        model._reset(archive)
        return model

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy that the model was fitted on."""
        return self._fitted().taxonomy

    @property
    def training(self) -> TrainingRecord:
        """The record of the training, such as figures, versions and seconds."""
        return self._fitted().training

    @property
    def growth(self) -> TaxonomyGrowth:
        """The changes of the taxonomy since the training, because of updates."""
        return self._fitted().growth

    @property
    def calibrators(self) -> Calibrators:
        """The calibration that the model has learned from the held-out concepts."""
        return self._fitted().calibrators

    def _fitted(self) -> Archive:
        if self._archive is None:
            raise ModelError("the model is not trained", fix="call fit, or load a trained one")
        return self._archive

    @property
    def _embedder(self) -> Embedder:
        return Embedder(self.encoder, self.config, self.device, self._tower)

    @property
    def _ranker(self) -> Ranker:
        """The ranker of all anchors of the taxonomy."""
        if self._cached_ranker is None:
            self._cached_ranker = self._fitted().ranker(self.device)
        return self._cached_ranker

    def _ranker_of(self, taxonomy: Taxonomy) -> Ranker:
        """Return the ranker of all anchors of another taxonomy."""
        archive = self._fitted()
        return remaining_ranker(taxonomy, archive.network, self._embedder, archive.calibrators)

    def _queries(self, concepts: Sequence[Concept]) -> Queries:
        """Embed concepts, and find the concepts of the taxonomy that their names mention."""
        if self._cached_lexicon is None:
            self._cached_lexicon = self._embedder.lexicon(self._fitted().taxonomy)
        return self._embedder.queries(concepts, self._cached_lexicon)

    def _held_out(self, holdout: Holdout) -> tuple[Ranker, LabeledQueries]:
        """Return the ranker of the remaining taxonomy, and the held-out concepts as queries."""
        refuse_other_holdout(self._fitted().taxonomy, holdout)
        holdout = holdout.canonical
        is_own = holdout.taxonomy is self._fitted().taxonomy
        queries = held_out_queries(holdout, self._embedder)
        return self._ranker if is_own else self._ranker_of(holdout.taxonomy), queries


def _path(name: str, path: str | Path | None) -> Path | None:
    if path is None:
        return None
    PATH.check(name, path)
    return Path(path)


def _shown(progress: bool | None) -> bool:
    """Return whether progress is shown; by default, in a terminal and in a notebook."""
    if progress is None:
        return is_terminal()
    SWITCH.check("progress", progress)
    return progress
