from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan import Concept, Taxonomy
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.folds import FoldFiles, SuspiciousRelation
from taxoexpan.curation.cleaning.self_cleaning import EXPLAINED, _identity, clean
from taxoexpan.errors import ConfigurationError, FormatError
from tests.support.messy_pantry import FULL, MISPLACED, QUICK, messy_pantry


@pytest.fixture(scope="module")
def messy() -> Taxonomy:
    return messy_pantry()


@pytest.fixture(scope="module")
def saved(
    messy: Taxonomy, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[SuspiciousRelation], Path]:
    """The result of a short cleaning, and the folder with its folds."""
    work = tmp_path_factory.mktemp("work") / "folds"
    return clean(messy, QUICK, folds=2, work=work), work


@pytest.mark.slow
def test_misplaced_leaves_come_first_with_their_true_parent(messy: Taxonomy) -> None:
    relations = clean(messy, FULL, folds=4)
    assert len(relations) == 81  # one of eighty leaves has two parents
    first = relations[: len(MISPLACED)]
    assert {each.concept.label: each.parent.label for each in first} == MISPLACED
    for each in first:
        kind = each.concept.label.split()[1]
        assert (each.better.label, each.better_path) == (kind, ("food", kind))
        assert each.path == ("food", each.parent.label)
        assert each.rank > 1
        assert each.better_score > each.score
    suspicions = [each.suspicion for each in relations]
    assert suspicions == sorted(suspicions, reverse=True)


def test_the_requested_number_of_relations_is_explained(messy: Taxonomy) -> None:
    relations = clean(messy, QUICK, folds=2, explained=5)
    assert sum(each.evidence is not None for each in relations) == 10
    assert all(each.why for each in relations[:5])  # whichever folds they belong to
    for each in relations:
        assert bool(each.why) == (each.evidence is not None)
    unexplained = clean(messy, QUICK, folds=2, explained=0)
    assert unexplained == [replace(each, evidence=None) for each in relations]


def test_the_better_parent_of_an_inner_concept_is_never_its_descendant(messy: Taxonomy) -> None:
    taxonomy = Taxonomy(messy.concepts, [*messy.relations, ("oat milk", "black tea")])
    relations = clean(taxonomy, QUICK, folds=2, inner=True)
    assert {(each.parent.id, each.concept.id) for each in relations} == set(taxonomy.relations)
    for each in relations:
        below = {each.concept.id, *taxonomy.descendants(each.concept.id)}
        assert each.better.id not in below.union(taxonomy.ancestors(each.concept.id))


def test_deprecated_concepts_are_left_out(messy: Taxonomy) -> None:
    deprecated = {"oat milk", "tea"}
    concepts = [Concept(c.id, c.label, deprecated=c.id in deprecated) for c in messy.concepts]
    relations = clean(Taxonomy(concepts, messy.relations), QUICK, folds=2)
    named = {c.id for each in relations for c in (each.concept, each.parent, each.better)}
    assert not deprecated & named
    assert len(relations) == 70  # the nine other teas are roots now, but green tea is still a soup


def test_a_saved_fold_is_not_computed_again(
    saved: tuple[list[SuspiciousRelation], Path], messy: Taxonomy
) -> None:
    relations, work = saved
    assert sorted(path.name for path in work.iterdir()) == ["fold-1.npz", "fold-2.npz"]
    messages: list[str] = []
    assert clean(messy, QUICK, folds=2, work=work, report=messages.append) == relations
    assert messages == ["2 of 2 folds were finished before"]
    files = FoldFiles(work, _identity(QUICK.new_model(), messy.canonical, 2, False, EXPLAINED))
    before = files.load()[1]
    reasons = {pair: {**each, "has_vector": False} for pair, each in before.reasons.items()}
    changed = {"ranks": before.ranks + 1000, "confidences": before.log_scores * 0 + 0.25}
    files.save(1, replace(before, **changed, reasons=reasons))
    again = clean(messy, QUICK, folds=2, work=work)
    files.save(1, before)
    for each in again:
        assert each.why.startswith("None of its words is known") == (each.rank > 1000)
        assert (each.parent_confidence == 0.25) == (each.rank > 1000)
    assert sum(each.rank > 1000 for each in again) == len(before.ranks)


def test_an_interrupted_run_resumes(
    saved: tuple[list[SuspiciousRelation], Path], messy: Taxonomy, tmp_path: Path
) -> None:
    work = tmp_path / "folds"

    def interrupt(message: str) -> None:
        if message.startswith("1 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clean(messy, QUICK, folds=2, work=work, report=interrupt)
    assert [path.name for path in work.iterdir()] == ["fold-1.npz"]
    assert clean(messy, QUICK, folds=2, work=work) == saved[0]


@pytest.mark.parametrize(
    "change",
    [
        {"folds": 3},
        {"inner": True},
        {"explained": EXPLAINED + 1},
        {"options": ModelOptions("fast", seed=2, device="cpu", settings=QUICK.settings)},
        {"options": FULL},
    ],
)
def test_folds_of_another_run_are_refused(
    saved: tuple[list[SuspiciousRelation], Path], messy: Taxonomy, change: dict[str, object]
) -> None:
    arguments: dict[str, object] = {"options": QUICK, "folds": 2, **change}
    with pytest.raises(FormatError, match=r"another run.*delete"):
        clean(messy, work=saved[1], **arguments)  # type: ignore[arg-type]


def test_folds_of_another_taxonomy_are_refused(
    saved: tuple[list[SuspiciousRelation], Path], messy: Taxonomy
) -> None:
    other = Taxonomy(messy.concepts, [*messy.relations, ("milk", "green tea")])
    with pytest.raises(FormatError, match="another taxonomy"):
        clean(other, QUICK, folds=2, work=saved[1])


def test_invalid_arguments_are_refused(messy: Taxonomy) -> None:
    for changes, message in (
        ({"folds": 1}, "folds is 1; it must be a whole number, at least 2"),
        ({"folds": 81}, "80 concepts to check cannot be split into 81 folds"),
        ({"explained": -1}, "explained is -1; it must be a whole number, at least 0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            clean(messy, QUICK, **changes)
    with pytest.raises(ConfigurationError, match="seed is -1"):
        clean(messy, ModelOptions(seed=-1))
