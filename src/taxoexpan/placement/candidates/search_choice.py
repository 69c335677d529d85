"""Whether a model searches for candidates or ranks all anchors."""

from __future__ import annotations

import warnings

import torch

from taxoexpan.errors import DamagedModelError
from taxoexpan.files.regular_file import reason_of
from taxoexpan.model_directory import SEARCH
from taxoexpan.placement.candidates.candidate_ranker import CandidateRanker
from taxoexpan.placement.candidates.index_building import build_search
from taxoexpan.placement.candidates.search_record import StoredSearch, checksum_of_ids
from taxoexpan.placement.candidates.vector_graph import has_faiss
from taxoexpan.placement.scoring.ranking import Ranker

MIN_ANCHORS = 200_000
"""From so many anchors on, the candidate search is used on a CPU."""
MIN_ANCHORS_ON_GPU = 2_000_000
INSTALL = 'pip install "taxoexpan[ann]"'


def is_search_faster(anchors: int, device: torch.device) -> bool:
    """Return whether a taxonomy is so large that a search is faster than ranking all anchors."""
    return anchors >= (MIN_ANCHORS if device.type == "cpu" else MIN_ANCHORS_ON_GPU)


def find_search(
    ranker: Ranker, stored: StoredSearch | None, temperature: float
) -> CandidateRanker | None:
    """Restore the stored search, or build one if there is none for the anchors of the ranker.

    Without faiss, or if the stored search finds too little, the result is None, with a warning. A
    new search that finds too little also gets a warning; its record says so (`is_used`).
    """
    taxonomy = ranker.anchors.taxonomy
    if not has_faiss():
        message = f"all {len(taxonomy):,} anchors are compared with every new concept"
        warnings.warn(f"{message}; {INSTALL} makes this faster", stacklevel=2)
        return None
    if stored is not None and stored.record.taxonomy == checksum_of_ids(taxonomy.ids):
        if stored.record.is_used:
            return _restored(ranker, stored)
        warnings.warn(stored.record.sentence(), stacklevel=2)
        return None
    search = build_search(ranker, temperature)
    if not search.record.is_used:
        warnings.warn(search.record.sentence(), stacklevel=2)
    return search


def _restored(ranker: Ranker, stored: StoredSearch) -> CandidateRanker:
    try:
        return CandidateRanker(ranker, stored.record, stored=stored)
    except (ValueError, RuntimeError, MemoryError) as error:
        message = f"the candidate search of the model, {SEARCH}, is damaged ({reason_of(error)})"
        raise DamagedModelError(f"{message}; train again", "exact") from None
