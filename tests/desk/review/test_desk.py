from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from taxoexpan import TaxoExpan
from taxoexpan.desk.review.desk import EvidenceCache
from taxoexpan.report.page import Details
from taxoexpan.taxonomy import Concept

NEW = Concept("n1", "hemp milk")


def test_the_first_proposal_is_explained_in_full(model: TaxoExpan) -> None:
    proposals = model.suggest([NEW])
    found = EvidenceCache(model).explain(NEW, proposals, proposals[0].parent.id)
    assert "It shares the word 'milk'" in found.paragraphs[0]
    assert {"cosine", "shared words", "raw score"} <= {name for name, _ in found.facts}


def test_a_runner_up_is_explained_by_its_similarity(model: TaxoExpan) -> None:
    proposals = model.suggest([NEW])
    other = proposals[1].parent
    found = EvidenceCache(model).explain(NEW, proposals, other.id)
    assert found.paragraphs[0].startswith(f"Its similarity to '{other.label}' is")


def test_a_parent_that_the_model_does_not_suggest_has_no_reasons(model: TaxoExpan) -> None:
    proposals = model.suggest([NEW])
    suggested = {each.parent.id for each in proposals}
    other = next(id for id in model.taxonomy if id not in suggested)
    assert EvidenceCache(model).explain(NEW, proposals, other) == Details((), ())


def test_many_threads_get_the_same_answers_as_one(model: TaxoExpan) -> None:
    concepts = [Concept(f"n{i}", f"{name} milk") for i, name in enumerate(("soy", "rice", "pea"))]
    proposals = {concept: model.suggest([concept]) for concept in concepts}

    def explain(cache: EvidenceCache, concept: Concept) -> Details:
        return cache.explain(concept, proposals[concept], proposals[concept][0].parent.id)

    alone, shared = EvidenceCache(model), EvidenceCache(model)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: explain(shared, each), concepts * 5))
    assert found == [explain(alone, concept) for concept in concepts] * 5
