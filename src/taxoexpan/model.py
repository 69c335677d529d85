"""`TaxoExpan`: fit, suggest, expand, save, load; it ties the parts together."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.archive import Archive, load_archive, save_archive, taxonomy_digest, training_record
from taxoexpan.config import load_preset
from taxoexpan.device import choose_device
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.explain import Evidence, describe, explain
from taxoexpan.features.embedding import embed_concepts, names_of, refuse_unknown, warn_of_unknown
from taxoexpan.features.encoder import Vectors
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.files import refuse_overwriting
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.placement.abstention import AbstentionModel, abstention_features, learn_abstention
from taxoexpan.placement.calibration import calibrate, score_held_out
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.confidence import Calibration
from taxoexpan.placement.duplicates import DuplicateCandidates, DuplicateDetector
from taxoexpan.placement.joint.joint_placement import mentions_among, place_jointly
from taxoexpan.placement.joint.prior_learning import learn_new_parent_priors
from taxoexpan.placement.leaf_bonus import learn_leaf_bonus
from taxoexpan.placement.proposals import Likelihood, propose
from taxoexpan.placement.ranking import Anchors, Ranker, Ranking
from taxoexpan.placement.selection import choose, validate_additions
from taxoexpan.placement.suggestions import MERGE, Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.ids import with_ids
from taxoexpan.taxonomy.known_names import filter_known_names
from taxoexpan.training.checkpoint import Checkpoint, identity_of
from taxoexpan.training.history import History
from taxoexpan.training.holdout import HOLDOUTS, Holdout
from taxoexpan.training.loop import train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.sampling import TrainingSampler
from taxoexpan.training.tensorboard import TensorBoardWriter, check_tensorboard
from taxoexpan.training.training_log import TrainingLog


class TaxoExpan:
    """Learns from a taxonomy where concepts belong, and ranks parents for new ones.

    `preset` names the settings, and single ones can be changed by keyword. The same seed on the
    same machine gives the same model, bit for bit.
    """

    def __init__(
        self, preset: str = "best", seed: int = 0, device: str = "auto", **changes: Any
    ) -> None:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            message = f"seed is {seed!r}; it must be a whole number from 0 to 2^63 - 1"
            raise ConfigurationError(message)
        self.preset = preset
        self.seed = seed
        self.device = choose_device(device)
        self.config = load_preset(preset, **changes)
        features, oov = self.config.features, self.config.oov
        self.encoder = make_encoder(features, oov, str(self.device))
        self.history: History | None = None
        self._archive: Archive | None = None
        self._ranker: Ranker | None = None
        self._lexicon: Lexicon | None = None

    def fit(
        self,
        taxonomy: Taxonomy,
        holdout: Holdout | None = None,
        progress: bool = False,
        log: str | Path | None = None,
        checkpoint: str | Path | None = None,
        tensorboard: str | Path | None = None,
        expected: Iterable[str | Concept] = (),
    ) -> TaxoExpan:
        """Train on a taxonomy; some leaves (or `holdout`) are masked to see when to stop.

        Nothing is learned from deprecated concepts. `log` gets a line of JSON an epoch. After every
        epoch the state is kept in `checkpoint`; where that file is there already, the training goes
        on from it, and ends as it would have without a stop. The folder `tensorboard` gets the
        same figures as curves, where TensorBoard is installed. Where vectors are learned from a
        corpus, the names of concepts that are `expected` to be asked for are learned too.
        """
        if not isinstance(taxonomy, Taxonomy):
            message = f"fit wants a Taxonomy, not {taxonomy!r}; Taxonomy.read makes one of a file"
            raise ConfigurationError(message)
        if log:
            refuse_overwriting(Path(log), force=True)  # a log is added to
        known = taxonomy.active
        _refuse_unlearnable(known)
        if tensorboard:
            check_tensorboard(Path(tensorboard))
        began, c = time.monotonic(), self.config
        as_it_grows = holdout is None and c.validation == "growth"
        if holdout is None:
            mask = HOLDOUTS[c.validation]
            holdout = mask(known, c.validation_fraction, c.max_validation_leaves, self.seed)
        self.encoder.show_progress(progress)
        known_later = [as_concept(concept) for concept in expected]
        self.encoder.learn(names_of([*taxonomy.concepts, *holdout.concepts, *known_later]))
        vectors = self._embed(taxonomy.concepts)
        refuse_unknown(vectors.cpu().numpy(), c.features)
        rows = torch.tensor([taxonomy.index(id) for id in holdout.taxonomy], device=self.device)
        features = ConceptVectors.of(vectors.index_select(1, rows))
        network = self._new_network()
        anchors = Anchors(holdout.taxonomy, features, c.max_siblings)

        lexicon = self._lexicon_of(holdout.taxonomy)
        mentions = None
        if lexicon is not None:
            mentions = lexicon.mentions(holdout.taxonomy.concepts, exclude_self=True)
        queries = self._labeled_queries(holdout, lexicon)

        def validate(network: MatchingNetwork) -> Metrics:
            return compute_metrics(Ranker(network, anchors).true_ranks(queries, ties=0.5))

        sampler = TrainingSampler(holdout.taxonomy, c, self.seed, mentions)
        board = TensorBoardWriter(Path(tensorboard)) if tensorboard else None
        report = TrainingLog(progress, Path(log) if log else None, board)
        gpus = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=gpus), closing(report):
            torch.manual_seed(self.seed)
            self.history = train(
                network,
                features,
                sampler,
                validate if holdout.concepts else None,
                c,
                report,
                self._checkpoint(checkpoint, taxonomy, holdout),
            )
        judged = self._judge(Ranker(network, anchors), queries, as_it_grows)
        calibrators = Calibrators(*judged, self._learn_synonymy(taxonomy, vectors))
        seconds = time.monotonic() - began
        record = training_record(taxonomy, self.encoder, self.history, seconds)
        keys = Anchors(taxonomy, ConceptVectors.of(vectors), c.max_siblings).encode(network)
        self._archive = Archive(
            c,
            self.preset,
            self.seed,
            taxonomy,
            self.encoder,
            network,
            vectors,
            keys,
            record,
            calibrators,
        )
        self._ranker, self._lexicon = None, None
        return self

    def _judge(
        self, ranker: Ranker, queries: LabeledQueries, as_it_grows: bool
    ) -> tuple[Calibration | None, AbstentionModel | None]:
        """How sure to be of a parent and of there being one, from what was held out."""
        if not len(queries):
            return None, None
        # Loose leaves know next to nothing of anchors without children.
        bonus = learn_leaf_bonus(ranker, queries) if as_it_grows else 0.0
        scores = score_held_out(ranker.with_leaf_bonus(bonus), queries)
        return calibrate(scores, self.seed), learn_abstention(ranker, queries)

    def _learn_synonymy(self, taxonomy: Taxonomy, vectors: Tensor) -> tuple[float, ...] | None:
        """What makes a synonym, from those that there are."""
        learned = DuplicateDetector.learn(
            taxonomy, vectors.cpu().numpy(), self._as_array, self.seed
        )
        return None if learned is None else tuple(learned.weights.tolist())

    def suggest(self, concepts: Iterable[str | Concept], top_k: int = 5) -> list[Suggestion]:
        """The best parents of each new concept, best first.

        A name that the taxonomy already has is left out, with a warning.
        """
        screening = filter_known_names(self.taxonomy, as_concepts(concepts))
        for concept, known in screening.present:
            message = f"{concept.label!r} is already in the taxonomy ({known.id}); not placed again"
            warnings.warn(message, stacklevel=2)
        return self.rank(screening.new, top_k)

    def rank(
        self, concepts: Iterable[str | Concept], top_k: int = 5, evidence: bool = False
    ) -> list[Suggestion]:
        """The best parents of each concept, known or not, with reasons where `evidence` is asked.

        Where synonyms taught it, a concept that is likely another name of one that is there has
        a proposal to merge them among its parents.
        """
        known = as_concepts(concepts)
        return (
            self.explain(known, top_k)[0]
            if evidence
            else self._rank(self._queries(known), top_k)[0]
        )

    def explain(
        self, concepts: Iterable[str | Concept], top_k: int = 5
    ) -> tuple[list[Suggestion], list[Evidence]]:
        """What `rank` gives, each first suggestion with reasons, and the evidence of each concept.

        The evidence is about the parents, whether or not a merge stands before them.
        """
        queries = self._queries(as_concepts(concepts))
        suggestions, ranking = self._rank(queries, top_k, least=2)
        if not suggestions:
            return [], []
        found = explain(self.ranker, queries, ranking)
        why = {(each.query.id, each.first.parent.id): describe(each) for each in found}
        told = [
            replace(s, why="" if s.kind == MERGE else why.get((s.query.id, s.parent.id), ""))
            for s in suggestions
        ]
        return told, found

    def contrast(self, concepts: Sequence[Concept], ranking: Ranking) -> list[Evidence]:
        """Why each concept would stand under its first anchor of a ranking and not its second."""
        return explain(self.ranker, self._queries(concepts), ranking)

    def _rank(
        self, queries: Queries, top_k: int, least: int = 1
    ) -> tuple[list[Suggestion], Ranking]:
        """The ranked proposals, and what they were made from: a ranking of at least so many."""
        if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:
            raise ConfigurationError(f"top_k is {top_k!r}; it must be a whole number, at least 1")
        if not len(queries):
            nothing = np.zeros((0, 0))
            return [], Ranking(nothing.astype(np.int64), *[nothing.astype(np.float32)] * 2)
        warn_of_unknown(queries.vectors.cpu().numpy(), queries.concepts)
        calibration = self.calibrators.calibration
        heat = calibration.temperature if calibration else 1.0
        ranking = self.ranker.rank(queries, max(top_k, least), heat)
        sure = calibration.confidence(ranking.tempered) if calibration else None
        likely = Likelihood(sure, self._without_place(queries), self._doubles_of(queries))
        suggestions = propose(self.taxonomy, queries.concepts, ranking, likely, top_k)
        return suggestions, ranking

    def _doubles_of(self, queries: Queries) -> DuplicateCandidates | None:
        """What each concept may be another name of, if the taxonomy's synonyms taught that."""
        weights = self.calibrators.duplicates
        if weights is None:
            return None
        judge = DuplicateDetector(self.taxonomy, self._fitted().vectors.cpu().numpy(), weights)
        return judge.candidates(queries.concepts, queries.vectors.cpu().numpy())

    def _without_place(self, queries: Queries) -> NDArray[np.bool_]:
        """Which concepts have no good place anywhere, as far as that could be learned."""
        abstention = self.calibrators.abstention
        if abstention is None:
            return np.zeros(len(queries), dtype=bool)
        return ~abstention.has_parent(abstention_features(self.ranker, queries))

    def scores(self, concepts: Sequence[Concept]) -> Iterator[tuple[int, Tensor]]:
        """What orders all anchors for a few concepts at a time [N, Q], beside the first's place."""
        ranker = self.ranker.with_leaf_bonus(0.0)
        for start, some in self._queries(concepts).blocks(len(ranker.keys)):
            yield start, ranker.scores(some)

    def fit_joint_prior(self) -> TaxoExpan:
        """Learn the new-parent priors of joint placement from the taxonomy's own subtrees.

        `suggest_together` does this on first use; `save` stores the result.
        """
        archive = self._fitted()
        priors = learn_new_parent_priors(self.ranker, self.seed)
        calibrators = replace(archive.calibrators, joint_priors=priors)
        self._archive = replace(archive, calibrators=calibrators)
        return self

    def rank_together(self, concepts: Iterable[str | Concept]) -> list[Suggestion]:
        """One parent for each of a batch in which new concepts may be parents of new ones.

        All are placed at once: their order does not matter, and no cycle can come of it. What a new
        parent gains is learned first, from subtrees of the taxonomy itself.
        """
        named = with_ids(self.taxonomy, as_concepts(concepts))
        if not named:
            return []
        vectors = self._embed(named)
        warn_of_unknown(vectors.cpu().numpy(), named)
        if self.calibrators.joint_priors is None:
            self.fit_joint_prior()
        heeded = self.config.use_mentions
        mentions = mentions_among(self.taxonomy, named) if heeded else None
        queries = Queries(vectors, mentions, named)
        placed = place_jointly(self.ranker, queries, self.calibrators.joint_priors or ())
        wider = self.taxonomy.expanded(placed.additions(self.taxonomy, named))
        return [
            Suggestion(
                query=concept,
                rank=1,
                parent=wider.concept_at(parent),
                path=wider.path(wider.ids[parent]),
                score=score,
            )
            for concept, parent, score in zip(
                named, placed.parents.tolist(), placed.scores.tolist(), strict=True
            )
        ]

    def expand(
        self,
        concepts: Iterable[str | Concept],
        top_k: int = 1,
        min_score: float = 0.0,
        min_confidence: float = 0.0,
        allow_moves: bool = False,
        allow_merges: bool = False,
    ) -> Taxonomy:
        """The taxonomy with the new concepts under their best parents, and all else as it was.

        `allow_moves` lets children named after a new concept move below it, `allow_merges` makes
        what is likely another name of a known concept a synonym of it.
        """
        for name, least in (("min_score", min_score), ("min_confidence", min_confidence)):
            if not isinstance(least, int | float) or not 0 <= least <= 1:
                raise ConfigurationError(f"{name} is {least!r}; it must be from 0 to 1")
        allowed = (allow_moves, allow_merges)
        for name, given in zip(("allow_moves", "allow_merges"), allowed, strict=True):
            if not isinstance(given, bool):
                raise ConfigurationError(f"{name} is {given!r}; it must be True or False")
        suggestions = self.suggest(concepts, top_k)
        chosen = choose(suggestions, top_k, min_score, min_confidence, *allowed)
        return self.taxonomy.expanded(validate_additions(self.taxonomy, chosen).additions)

    def evaluate(self, holdout: Holdout) -> Metrics:
        """How well the held-out concepts find their parents in what remains."""
        archive = self._fitted()
        if not holdout.concepts:
            raise ModelError("nothing is held out, so there is nothing to evaluate")
        features = ConceptVectors.of(self._embed(holdout.taxonomy.concepts))
        anchors = Anchors(holdout.taxonomy, features, self.config.max_siblings)
        network = archive.network.to(self.device)
        ranker = Ranker(network, anchors, leaf_bonus=self.calibrators.leaf_bonus)
        queries = self._labeled_queries(holdout, self._lexicon_of(holdout.taxonomy))
        return compute_metrics(ranker.true_ranks(queries))

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the model as a directory."""
        save_archive(self._fitted(), Path(path), force)

    @classmethod
    def load(cls, path: str | Path, device: str = "auto", features: str | None = None) -> TaxoExpan:
        """Read a model that was saved; `features` if its vectors have moved since."""
        archive = load_archive(Path(path), features, device)
        model = cls.__new__(cls)
        model.preset, model.seed = archive.preset, archive.seed
        model.device = choose_device(device)
        model.config = archive.config
        model.encoder = archive.encoder
        model.history, model._archive = None, archive
        model._ranker, model._lexicon = None, None
        return model

    @property
    def taxonomy(self) -> Taxonomy:
        """What the model was fitted on."""
        return self._fitted().taxonomy

    @property
    def training(self) -> dict[str, Any]:
        """The record of the training: figures, versions, seconds."""
        return self._fitted().training

    @property
    def calibrators(self) -> Calibrators:
        """How far the model can be trusted, as it learned from what it held out."""
        return self._fitted().calibrators

    @property
    def ranker(self) -> Ranker:
        """All anchors, ready to score queries."""
        if self._ranker is None:
            a = self._fitted()
            network = a.network.to(self.device)
            vectors = ConceptVectors.of(a.vectors.to(self.device))
            anchors = Anchors(a.taxonomy, vectors, a.config.max_siblings)
            bonus = a.calibrators.leaf_bonus
            self._ranker = Ranker(network, anchors, a.keys.to(self.device), bonus)
        return self._ranker

    def _lexicon_of(self, taxonomy: Taxonomy) -> Lexicon | None:
        """The names that definitions are searched for, if that counts."""
        return Lexicon.from_taxonomy(taxonomy) if self.config.use_mentions else None

    def _queries(self, concepts: Sequence[Concept]) -> Queries:
        """Embed concepts, and find the concepts of the taxonomy that they mention."""
        if self._lexicon is None:
            self._lexicon = self._lexicon_of(self.taxonomy)
        mentions = None if self._lexicon is None else self._lexicon.mentions(concepts)
        return Queries(self._embed(concepts), mentions, concepts)

    def _labeled_queries(self, holdout: Holdout, lexicon: Lexicon | None) -> LabeledQueries:
        """Embed held-out concepts, and find the concepts of their taxonomy that they mention."""
        mentions = None if lexicon is None else lexicon.mentions(holdout.concepts)
        vectors = self._embed(holdout.concepts)
        return LabeledQueries(vectors, mentions, holdout.concepts, holdout.parents)

    def _fitted(self) -> Archive:
        if self._archive is None:
            raise ModelError("the model has learned nothing yet; call fit, or load one")
        return self._archive

    def _checkpoint(
        self, path: str | Path | None, taxonomy: Taxonomy, holdout: Holdout
    ) -> Checkpoint | None:
        """A file for this training; more epochs may be asked of it later."""
        if path is None:
            return None
        settings = self.config.model_copy(update={"epochs": 1, "patience": 1}).model_dump()
        masked = [concept.id for concept in holdout.concepts]
        parts = (taxonomy_digest(taxonomy), settings, self.seed, masked, self.encoder.fingerprint())
        return Checkpoint(Path(path), identity_of(*parts))

    def _new_network(self) -> MatchingNetwork:
        network = MatchingNetwork(self.config, self.encoder.dimension)
        network.reset(torch.Generator().manual_seed(self.seed))
        return network.to(self.device)

    def _embed(self, concepts: Iterable[Concept]) -> Tensor:
        return torch.from_numpy(self._as_array(concepts)).to(self.device)

    def _as_array(self, concepts: Iterable[Concept]) -> Vectors:
        c = self.config
        joined = c.join_definitions
        return embed_concepts(self.encoder, concepts, c.name_weight, c.definition_weight, joined)


def as_concepts(concepts: Iterable[str | Concept]) -> list[Concept]:
    """A list of concepts, some of them perhaps bare names."""
    if isinstance(concepts, str | Concept):
        raise ConfigurationError(f"{concepts!r} was given, and a list is wanted: [{concepts!r}]")
    if isinstance(concepts, Mapping) or not isinstance(concepts, Iterable):
        raise ConfigurationError(f"{concepts!r} was given; a list of names or Concepts is wanted")
    return [as_concept(concept) for concept in concepts]


def as_concept(concept: str | Concept) -> Concept:
    """A bare name as a concept that has no id yet."""
    made = Concept("", concept) if isinstance(concept, str) else concept
    if not isinstance(made, Concept) or not made.label.strip():
        raise ConfigurationError(f"{concept!r} is no name of a concept")
    return made


def _refuse_unlearnable(taxonomy: Taxonomy) -> None:
    if taxonomy.relation_count < 2 or len(taxonomy) < 3:
        raise ModelError(
            f"nothing to learn from: {len(taxonomy)} concept(s) and {taxonomy.relation_count} "
            "relation(s); a model needs at least 3 concepts and 2 relations, and some hundreds "
            "of them to be good"
        )
