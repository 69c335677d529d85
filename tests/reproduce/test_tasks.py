from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from splits import pantry_task, same_parents, write_split

from taxoexpan.baselines.method import Problem, Queries
from taxoexpan.errors import FormatError
from taxoexpan.features.concepts import embed_concepts
from taxoexpan.features.static import StaticEncoder
from taxoexpan.reproduce.changes import rewired, sampled
from taxoexpan.reproduce.tasks import Task, halved, load_task, read_split, task_content
from taxoexpan.taxonomy import Concept, Taxonomy


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return pantry_task(tmp_path_factory.mktemp("split"))


def kept(task: Task, folder: Path) -> Path:
    path = folder / "task.npz"
    path.write_bytes(task_content(task))
    return path


def changed(task: Task, **parts: object) -> Task:
    return replace(task, problem=replace(task.problem, **parts))


def test_the_split_holds_out_what_its_files_name(tmp_path: Path) -> None:
    validation, test = read_split(write_split(tmp_path))
    assert validation.taxonomy is test.taxonomy
    assert len(test.taxonomy) == 89 - 16
    assert len(validation.concepts) == len(test.concepts) == 8
    assert {concept.label.split()[0] for concept in test.concepts} == {"green"}
    labels = test.taxonomy.labels
    for concept, parents in zip(test.concepts, test.parents, strict=True):
        assert concept.label.split()[1] in [labels[parent] for parent in parents]
    assert [len(parents) for parents in test.parents] == [2, *[1] * 7]


def test_vectors_are_those_of_the_names(task: Task) -> None:
    concepts = [Concept("", label) for label in task.labels]
    expected = embed_concepts(StaticEncoder(), concepts)
    np.testing.assert_array_equal(task.test.vectors.numpy(), expected)
    assert task.problem.vectors.shape == (2, len(task.problem.taxonomy), expected.shape[2])


@pytest.mark.parametrize("half", [False, True])
def test_a_task_is_read_as_it_was_kept(task: Task, half: bool, tmp_path: Path) -> None:
    given = halved(task) if half else task
    again = load_task(kept(given, tmp_path))
    assert (again.name, again.features, again.labels) == (given.name, given.features, given.labels)
    assert again.problem.taxonomy.ids == given.problem.taxonomy.ids
    assert again.problem.taxonomy.labels == given.problem.taxonomy.labels
    for one, other in zip(
        again.problem.taxonomy.relation_indices,
        given.problem.taxonomy.relation_indices,
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert torch.equal(again.problem.vectors, given.problem.vectors)
    assert torch.equal(again.problem.validation.vectors, given.problem.validation.vectors)
    assert torch.equal(again.test.vectors, given.test.vectors)
    assert same_parents(again, given)
    assert again.digest() == given.digest()


def test_half_precision_is_near_and_half_as_large(task: Task) -> None:
    small = halved(task)
    assert not torch.equal(small.test.vectors, task.test.vectors)
    torch.testing.assert_close(small.test.vectors, task.test.vectors, atol=1e-3, rtol=1e-3)
    assert len(task_content(small)) < 0.7 * len(task_content(task))
    assert torch.equal(halved(small).problem.vectors, small.problem.vectors)


def test_the_digest_tells_every_change(task: Task, tmp_path: Path) -> None:
    p, test = task.problem, task.test
    parents, children = p.taxonomy.relation_indices
    fewer = Taxonomy.from_columns(p.taxonomy.ids, p.taxonomy.labels, parents[1:], children[1:])
    ids = ["other", *p.taxonomy.ids[1:]]
    renamed = Taxonomy.from_columns(ids, p.taxonomy.labels, parents, children)
    elsewhere = [p.validation.parents[0] + 1, *p.validation.parents[1:]]
    others = [
        replace(task, name="other"),
        replace(task, features="other"),
        changed(task, taxonomy=fewer),
        changed(task, taxonomy=renamed),
        changed(task, vectors=p.vectors + 1e-6),
        changed(task, validation=Queries(p.validation.vectors, elsewhere)),
        changed(task, validation=Queries(-p.validation.vectors, p.validation.parents)),
        replace(task, test=Queries(test.vectors.flip(1), test.parents)),
    ]
    digests = {other.digest() for other in [task, *others]}
    assert len(digests) == 1 + len(others)
    assert pantry_task(tmp_path).digest() == task.digest()


@pytest.mark.parametrize("damage", ["", "words", "half", "bits", "array", "other"])
def test_a_damaged_file_is_refused(task: Task, damage: str, tmp_path: Path) -> None:
    path = kept(task, tmp_path)
    content = path.read_bytes()
    if damage == "array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif damage == "other":
        with path.open("wb") as file:
            np.savez(file, kind=np.array("another"), ids=np.zeros(3))
    else:
        middle = len(content) // 2
        bits = content[:middle] + bytes(64) + content[middle + 64 :]
        changes = {"": b"", "words": b"id\tname\n", "half": content[:middle], "bits": bits}
        path.write_bytes(changes[damage])
    with pytest.raises(FormatError, match=r"task\.npz: is no task .*; make it with reproduce"):
        load_task(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file; make it with reproduce prepare"):
        load_task(tmp_path / "task.npz")
    terms = write_split(tmp_path)
    terms.with_name("pantry.terms.test").unlink()
    with pytest.raises(FormatError, match=r"terms\.test: there is no such file; the split lies"):
        read_split(terms)


def test_a_split_that_holds_nothing_out_is_refused(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    terms.with_name("pantry.terms.validation").write_text("0\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"validation: names no concept whose parent"):
        read_split(terms)


def chains(count: int = 2000) -> Task:
    """A deep taxonomy of many relations, one query each."""
    generator = np.random.default_rng(0)
    parents = (generator.random(count - 1) * np.arange(1, count)).astype(np.int64)
    names = [f"c{i}" for i in range(count)]
    taxonomy = Taxonomy.from_columns(names, names, parents, np.arange(1, count))
    vectors = torch.arange(count, dtype=torch.float32).expand(2, 1, count).transpose(1, 2)
    validation, test = (
        Queries(torch.zeros(2, 1, 1), [np.array(some)]) for some in ([3, count - 1], [7])
    )
    return Task("chains", "none", Problem(taxonomy, vectors, validation), test, ("query",))


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_about_the_share_of_relations_is_rewired_and_nothing_else(share: float) -> None:
    task = chains()
    other = rewired(task, share, 1)
    old, new = task.problem.taxonomy, other.problem.taxonomy
    assert new.ids == old.ids  # it could not be made if there were a cycle
    lost = set(old.relations) - set(new.relations)
    assert len(lost) / old.relation_count == pytest.approx(share, abs=0.03)
    assert len(set(new.relations) - set(old.relations)) == len(lost)
    assert new.relation_count == old.relation_count
    assert new.roots[0] == old.roots[0]
    assert other.test is task.test
    assert other.problem.validation is task.problem.validation
    assert other.problem.vectors is task.problem.vectors
    assert set(rewired(task, share, 1).problem.taxonomy.relations) == set(new.relations)
    assert set(rewired(task, share, 2).problem.taxonomy.relations) != set(new.relations)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_share_of_the_leaves_stays_and_all_true_parents(share: float) -> None:
    task = chains()
    other = sampled(task, share, 1)
    old, new = task.problem.taxonomy, other.problem.taxonomy
    gone = set(old) - set(new)
    assert gone <= set(old.leaves)
    assert len(gone) == pytest.approx((1 - share) * len(old.leaves), abs=2)
    assert set(new.relations) == {(p, c) for p, c in old.relations if c not in gone}
    kept = [old.index(id) for id in new.ids]
    assert torch.equal(other.problem.vectors, task.problem.vectors[:, kept])
    for one, same in (
        (task.test, other.test),
        (task.problem.validation, other.problem.validation),
    ):
        assert torch.equal(one.vectors, same.vectors)
        before = [[old.ids[i] for i in parents] for parents in one.parents]
        assert [[new.ids[i] for i in parents] for parents in same.parents] == before
