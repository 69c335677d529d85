from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from reproduction.baselines.first_word import FirstWord
from reproduction.baselines.networks import DeepSetMLP, NetworkMethod, ParentMLP, TaxoExpanMethod
from reproduction.runner import rank_queries
from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.evaluation.methods import Problem
from taxoexpan.evaluation.results import true_ranks_by
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.training.holdout import Holdout, hold_out_leaves
from taxoexpan.training.log import SILENT, TrainingLog
from taxoexpan.training.metrics import compute_metrics
from tests.support.builders import random_taxonomy

QUICK = {
    "features": "static",
    "epochs": 4,
    "hidden_dim": 8,
    "embedding_dim": 32,
    "num_negatives": 64,
    "batch_size": 32,
}


@pytest.fixture(scope="module")
def holdout(pantry: Path) -> Holdout:
    """The pantry without a fifth of its leaves."""
    return hold_out_leaves(read_taxonomy(pantry).canonical, 0.2, 100, seed=5)


@pytest.fixture(scope="module")
def problem(holdout: Holdout) -> Problem:
    """The holdout as vectors, with the held-out leaves as validation queries."""
    encoder = make_encoder("static", "skip", "cpu")
    queries, known = (
        torch.from_numpy(embed_concepts(encoder, concepts))
        for concepts in (holdout.concepts, holdout.taxonomy.concepts)
    )
    return Problem(holdout.taxonomy, known, LabeledQueries(queries, parents=holdout.parents))


@pytest.mark.parametrize(("preset", "negatives"), [("paper", "uniform"), ("fast", "shared")])
def test_it_learns_bit_for_bit_the_same_as_the_network_of_the_product(
    preset: str, negatives: str, problem: Problem, holdout: Holdout, pantry: Path
) -> None:
    changes = {**QUICK, "negative_sampling": negatives, "learn_fusion": False}
    model = TaxoExpan(preset, 3, "cpu", **changes).fit(read_taxonomy(pantry), holdout)
    method = TaxoExpanMethod(preset, **changes)
    history = method.fit(problem, 3, SILENT)
    assert history == model.history
    assert history.best_epoch.validation is not None
    ranks = true_ranks_by(method, problem.validation, len(problem.taxonomy))
    assert compute_metrics(ranks) == model.evaluate(holdout)


@pytest.mark.parametrize("preset", ["paper", "fast"])
def test_scores_in_the_whole_taxonomy_are_those_of_the_network_of_the_product(
    preset: str, problem: Problem, holdout: Holdout, pantry: Path
) -> None:
    whole = read_taxonomy(pantry).canonical
    model = TaxoExpan(preset, 3, "cpu", learn_fusion=False, **QUICK).fit(whole, holdout)
    method = TaxoExpanMethod(preset, **QUICK)
    method.fit(problem, 3, SILENT)
    vectors = torch.from_numpy(embed_concepts(model.encoder, whole.concepts))
    method.set_anchors(whole, vectors)
    queries = problem.validation
    assert torch.equal(method.score(queries), model._ranker.scores(queries))
    assert method.score(queries).shape[0] == len(whole) > len(problem.taxonomy)


class Stopping(TrainingLog):
    """Interrupts like Ctrl-C after the first epoch."""

    def write(self, *_: object) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_training_is_an_error(problem: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        TaxoExpanMethod(**QUICK).fit(problem, 0, Stopping())


def test_another_seed_learns_another_model(problem: Problem) -> None:
    one, other = (
        TaxoExpanMethod(**QUICK).fit(problem, seed, SILENT).best_epoch.loss for seed in (0, 1)
    )
    assert one != other


@pytest.mark.parametrize("kind", [TaxoExpanMethod, ParentMLP, DeepSetMLP])
def test_fitting_does_not_change_the_callers_random_state(
    kind: type[NetworkMethod], problem: Problem
) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    kind(**{**QUICK, "epochs": 1}).fit(problem, 0, SILENT)
    assert torch.equal(torch.rand(2), expected)


def test_without_validation_queries_the_loss_decides(problem: Problem) -> None:
    nothing = LabeledQueries(problem.validation.vectors[:, :0], parents=[])
    alone = Problem(problem.taxonomy, problem.vectors, nothing)
    history = TaxoExpanMethod(**QUICK).fit(alone, 0, SILENT)
    assert history.best_epoch.validation is None
    assert history.best_epoch.loss == min(epoch.loss for epoch in history.epochs)


def test_every_epoch_is_logged(problem: Problem, tmp_path: Path) -> None:
    log = tmp_path / "epochs.jsonl"
    history = TaxoExpanMethod(**QUICK).fit(problem, 0, TrainingLog(path=log))
    assert len(log.read_text().splitlines()) == len(history.epochs) == 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("kind", [TaxoExpanMethod, ParentMLP, DeepSetMLP])
def test_it_learns_on_the_device_of_the_vectors(
    kind: type[NetworkMethod], problem: Problem
) -> None:
    queries = LabeledQueries(problem.validation.vectors.cuda(), parents=problem.validation.parents)
    method = kind(**QUICK)
    method.fit(Problem(problem.taxonomy, problem.vectors.cuda(), queries), 0, SILENT)
    scores = method.score(queries)
    assert scores.is_cuda
    assert scores.isfinite().all()


def test_the_first_sense_comes_first_then_the_others() -> None:
    taxonomy = random_taxonomy(0, count=20)
    vectors = torch.zeros(2, 20, 1)
    method = FirstWord()
    method.set_anchors(taxonomy, vectors)
    rows = [
        [
            (7, MentionKind.FIRST_IN_DEFINITION),
            (3, MentionKind.FIRST_OTHER_SENSE),
            (9, MentionKind.SAME_NAME),
        ],
        [],
        [(5, MentionKind.FIRST_IN_DEFINITION), (6, MentionKind.NAME_ENDING)],
    ]
    mentions = Mentions.from_rows(rows)
    scores = method.score(Queries(torch.zeros(2, 3, 1), mentions))
    assert scores.shape == (20, 3)
    assert {tuple(place): value for place, value in _values(scores)} == {
        (7, 0): 2,
        (3, 0): 1,
        (5, 2): 2,
    }
    assert not method.score(Queries(torch.zeros(2, 3, 1))).any()
    queries = LabeledQueries(torch.zeros(2, 3, 1), mentions=mentions, parents=[np.array([0])] * 3)
    ranked = rank_queries(method, queries, 20, 2)
    assert ranked.best[[0, 2], 0].tolist() == [7, 5]
    assert (ranked.best[0].tolist(), ranked.scores[0].tolist()) == ([7, 3], [2, 1])
    assert [ranks.tolist() for ranks in ranked.ranks] == [
        ranks.tolist() for ranks in true_ranks_by(method, queries, 20)
    ]
    no_queries = rank_queries(method, queries[:0], 20, 2)
    assert no_queries.best.shape == no_queries.scores.shape == (0, 2)


def _values(scores: torch.Tensor) -> list[tuple[list[int], float]]:
    places = scores.nonzero().tolist()
    return [(place, float(scores[place[0], place[1]])) for place in places]
