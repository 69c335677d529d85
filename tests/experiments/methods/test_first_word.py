from __future__ import annotations

import numpy as np
import torch
from builders import random_taxonomy

from taxoexpan.experiments.methods.method import Problem, Queries, rank_queries, true_ranks_by
from taxoexpan.experiments.methods.rules import FirstWord
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.training.training_log import SILENT


def test_the_first_sense_comes_first_then_the_others() -> None:
    taxonomy = random_taxonomy(0, count=20)
    vectors = torch.zeros(2, 20, 1)
    method = FirstWord()
    method.fit(Problem(taxonomy, vectors, Queries(vectors[:, :0], [])), 0, SILENT)
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
    scores = method.score(torch.zeros(2, 3, 1), mentions)
    assert scores.shape == (20, 3)
    assert {tuple(place): value for place, value in _values(scores)} == {
        (7, 0): 2,
        (3, 0): 1,
        (5, 2): 2,
    }
    assert not method.score(torch.zeros(2, 3, 1)).any()
    queries = Queries(torch.zeros(2, 3, 1), [np.array([0])] * 3, mentions)
    placed = rank_queries(method, queries, 20, 2)
    assert placed.best[[0, 2], 0].tolist() == [7, 5]
    assert (placed.best[0].tolist(), placed.scores[0].tolist()) == ([7, 3], [2, 1])
    assert [ranks.tolist() for ranks in placed.ranks] == [
        ranks.tolist() for ranks in true_ranks_by(method, queries, 20)
    ]
    nobody = rank_queries(method, queries.between(0, 0), 20, 2)
    assert nobody.best.shape == nobody.scores.shape == (0, 2)


def _values(scores: torch.Tensor) -> list[tuple[list[int], float]]:
    places = scores.nonzero().tolist()
    return [(place, float(scores[place[0], place[1]])) for place in places]
