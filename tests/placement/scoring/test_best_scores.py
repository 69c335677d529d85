from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.placement.scoring.best_scores import GROUP_SIZE, ScoreSummary, best_of


@given(st.integers(0, 10_000), st.integers(1, 400), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_the_best_of_groups_are_the_best_of_all(seed: int, anchors: int, top_k: int) -> None:
    scores = torch.randn(anchors, 5, generator=torch.Generator().manual_seed(seed))
    scores[::7] = -torch.inf
    top_k = min(top_k, anchors)
    best, rows = best_of(scores, top_k)
    assert torch.equal(best, scores.sort(dim=0, descending=True).values[:top_k])
    assert torch.equal(scores.gather(0, rows), best)
    assert all(len(set(column.tolist())) == top_k for column in rows.T)


@given(st.integers(0, 10_000), st.integers(1, 700), st.integers(1, 4), st.floats(0.3, 3))
@settings(max_examples=60, deadline=None)
def test_a_summary_of_slices_is_that_of_all_scores(
    seed: int, anchors: int, groups: int, temperature: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = 30 * torch.randn(anchors, 3, generator=generator)
    scores[: anchors // 2] = -torch.inf
    summary = ScoreSummary(temperature)
    for block in scores.split(groups * GROUP_SIZE):
        summary.add(block)
    plain, tempered = summary.log_totals()
    assert torch.allclose(plain, scores.logsumexp(0), atol=1e-4)
    assert torch.allclose(tempered, (scores / temperature).logsumexp(0), atol=1e-3)
    count = min(4, anchors)
    best, rows = summary.best_of(scores, count)
    assert torch.equal(best, scores.sort(dim=0, descending=True).values[:count])
    assert torch.equal(scores.gather(0, rows), best)
