"""Changed copies of a task: some relations with another parent, or only some of the leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from taxoexpan.experiments.methods.method import Problem
from taxoexpan.experiments.paper.task import Task
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def rewire_relations(task: Task, fraction: float, seed: int) -> Task:
    """Return the task with a fraction of its training relations given a random other parent.

    The new parent precedes the child in a topological order, so that no cycle can arise, and was
    not one of its parents before. The queries and their parents do not change.
    """
    taxonomy, rng = task.problem.taxonomy, np.random.default_rng(seed)
    parents, children = (indices.copy() for indices in taxonomy.relation_indices)
    order = np.asarray(taxonomy.topological_order)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    chosen = np.flatnonzero(rng.random(len(parents)) < fraction)
    # A child keeps its parents if no other concept precedes it.
    chosen = chosen[position[children[chosen]] > taxonomy.parents_of.degrees[children[chosen]]]
    parents[chosen] = order[_draw_parents(position, taxonomy, children[chosen], rng)]
    both = np.unique(np.stack([children, parents]), axis=1)
    changed = Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, both[1], both[0])
    return replace(task, problem=replace(task.problem, taxonomy=changed))


def _draw_parents(
    position: Indices, taxonomy: Taxonomy, children: Indices, rng: np.random.Generator
) -> Indices:
    """Draw, for each child, an earlier topological position that none of its parents has."""
    parents, children_of_relations = taxonomy.relation_indices
    size = len(position)
    known = position[children_of_relations] * size + position[parents]
    drawn = np.empty(len(children), dtype=np.int64)
    pending = np.arange(len(children))
    while len(pending):
        own = position[children[pending]]
        drawn[pending] = rng.integers(0, own)
        pending = pending[np.isin(own * size + drawn[pending], known)]
    return drawn


def sample_leaves(task: Task, fraction: float, seed: int) -> Task:
    """Return the task with a fraction of its leaves; the parents of queries are always kept."""
    problem = task.problem
    taxonomy, rng = problem.taxonomy, np.random.default_rng(seed)
    true_parents = np.concatenate([*problem.validation.parents, *task.test.parents])
    leaves = np.setdiff1d(np.flatnonzero(taxonomy.children_of.degrees == 0), true_parents)
    removed = rng.permutation(leaves)[: round(len(leaves) * (1 - fraction))]
    kept = np.setdiff1d(np.arange(len(taxonomy)), removed)
    smaller = taxonomy.without([taxonomy.ids[i] for i in removed.tolist()])
    new_index = np.full(len(taxonomy), -1)
    new_index[kept] = np.arange(len(kept))
    vectors = problem.vectors.index_select(1, torch.from_numpy(kept).to(problem.vectors.device))
    validation, test = (_reindex(queries, new_index) for queries in (problem.validation, task.test))
    mentions = problem.mentions.reindex(new_index, kept) if problem.mentions else None
    problem = Problem(smaller, vectors, validation, mentions)
    return replace(task, problem=problem, test=test, duplicates={})


def _reindex(queries: LabeledQueries, new_index: Indices) -> LabeledQueries:
    """Return the queries with new indices for their parents and for the anchors they mention."""
    rows = np.arange(len(queries.parents))
    mentions = queries.mentions.reindex(new_index, rows) if queries.mentions else None
    return replace(queries, parents=[new_index[p] for p in queries.parents], mentions=mentions)
