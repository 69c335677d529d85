from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from reproduction.split import read_split, split_leaves
from reproduction.task import Task, make_task, rewire_relations, sample_leaves
from reproduction.task_file import load_task, task_bytes
from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError, ModelError
from taxoexpan.evaluation.methods import Problem
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.placement.learned.duplicates import DuplicateCandidates
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.splits import pantry_task, same_parents, write_split


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return pantry_task(tmp_path_factory.mktemp("split"))


def kept(task: Task, folder: Path) -> Path:
    path = folder / "task.npz"
    path.write_bytes(task_bytes(task))
    return path


def listed(terms: Path, part: str) -> Path:
    return terms.with_name(f"{terms.name}.{part}")


def knowing(names: list[str], folder: Path) -> str:
    """Vectors of these names and of no others."""
    path = folder / "few.vec"
    rows = "".join(f"{name} {place} 1 2\n" for place, name in enumerate(names))
    path.write_text(f"{len(names)} 3\n{rows}", encoding="utf-8")
    return f"vectors:{path}"


def changed(task: Task, **parts: object) -> Task:
    return replace(task, problem=replace(task.problem, **parts))


def test_the_split_holds_out_the_listed_concepts(tmp_path: Path) -> None:
    validation, test = read_split(write_split(tmp_path))
    assert validation.taxonomy is test.taxonomy
    assert len(test.taxonomy) == 89 - 16
    assert len(validation.concepts) == len(test.concepts) == 8
    assert {concept.label.split()[0] for concept in test.concepts} == {"green"}
    labels = test.taxonomy.labels
    for concept, parents in zip(test.concepts, test.parents, strict=True):
        assert concept.label.split()[1] in [labels[parent] for parent in parents]
    assert [len(parents) for parents in test.parents] == [2, *[1] * 7]


@pytest.mark.parametrize(
    ("part", "content", "key_word"),
    [
        ("test", None, "does not exist"),
        ("test", "10\n99999\n", "'99999'"),
        ("validation", "0\n", "no listed concept has a parent"),
        ("test", "9\n10\n", "also in the validation list"),
    ],
)
def test_a_wrong_list_is_refused(
    part: str, content: str | None, key_word: str, tmp_path: Path
) -> None:
    terms = write_split(tmp_path)
    if content is None:
        listed(terms, part).unlink()
    else:
        listed(terms, part).write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=key_word) as refused:
        read_split(terms)
    assert listed(terms, part).name in str(refused.value)


def test_one_leaf_in_ten_is_held_out_for_each_part(tmp_path: Path) -> None:
    whole = read_taxonomy(write_split(tmp_path))
    validation, test = split_leaves(whole)
    assert len(whole.leaves) == 80
    assert len(validation.concepts) == len(test.concepts) == 8
    assert validation.taxonomy == test.taxonomy
    held = {concept.id for concept in (*validation.concepts, *test.concepts)}
    assert set(whole) - set(test.taxonomy) == held


def test_vectors_are_those_of_the_names(task: Task) -> None:
    concepts = [Concept("", label) for label in task.labels]
    expected = embed_concepts(StaticEncoder(), concepts)
    np.testing.assert_array_equal(task.test.vectors.numpy(), expected)
    assert task.problem.vectors.shape == (2, len(task.problem.taxonomy), expected.shape[2])


def test_a_task_file_keeps_duplicate_candidates(task: Task, tmp_path: Path) -> None:
    assert task.duplicates == {}
    assert load_task(kept(task, tmp_path)).duplicates == {}
    duplicates = {
        part: DuplicateCandidates(np.arange(8), np.linspace(-1, 1, 8))
        for part in ("validation", "test")
    }
    again = load_task(kept(replace(task, duplicates=duplicates), tmp_path)).duplicates
    assert again.keys() == duplicates.keys()
    for part, those in duplicates.items():
        np.testing.assert_array_equal(again[part].indices, those.indices)
        np.testing.assert_array_equal(again[part].log_odds, those.log_odds)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("test_duplicates", np.array([0, 1])),
        ("test_duplicates", np.full(8, 10**6)),
        ("validation_mentioned", None),
    ],
)
def test_arrays_that_do_not_fit_are_refused_at_once(
    task: Task, name: str, value: np.ndarray | None, tmp_path: Path
) -> None:
    duplicates = {
        part: DuplicateCandidates(np.arange(8), np.zeros(8)) for part in ("validation", "test")
    }
    path = kept(replace(task, duplicates=duplicates), tmp_path)
    with np.load(path) as arrays:
        changed = dict(arrays)
    changed[name] = changed[name] + 10**6 if value is None else value
    np.savez_compressed(path, **changed)
    with pytest.raises(FormatError, match="fit"):
        load_task(path)


@pytest.mark.parametrize("half", [False, True])
def test_a_task_is_read_as_it_was_kept(task: Task, half: bool, tmp_path: Path) -> None:
    given = task.with_half_precision() if half else task
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
    small = task.with_half_precision()
    assert not torch.equal(small.test.vectors, task.test.vectors)
    torch.testing.assert_close(small.test.vectors, task.test.vectors, atol=1e-3, rtol=1e-3)
    assert len(task_bytes(small)) < 0.7 * len(task_bytes(task))
    assert torch.equal(small.with_half_precision().problem.vectors, small.problem.vectors)


def test_the_digest_tells_every_change(task: Task, tmp_path: Path) -> None:
    p, test = task.problem, task.test
    parents, children = p.taxonomy.relation_indices
    fewer = Taxonomy.from_columns(p.taxonomy.ids, p.taxonomy.labels, parents[1:], children[1:])
    ids = ["other", *p.taxonomy.ids[1:]]
    renamed = Taxonomy.from_columns(ids, p.taxonomy.labels, parents, children)
    elsewhere = [p.validation.parents[0] + 1, *p.validation.parents[1:]]
    relabeled = Taxonomy.from_columns(p.taxonomy.ids, p.taxonomy.ids, parents, children)
    first, second, *rest = test.parents
    moved = [first[:1], np.concatenate([first[1:], second]), *rest]
    others = [
        replace(task, name="other"),
        replace(task, features="other"),
        changed(task, taxonomy=fewer),
        changed(task, taxonomy=renamed),
        changed(task, taxonomy=relabeled),
        changed(task, vectors=p.vectors + 1e-6),
        changed(task, validation=LabeledQueries(p.validation.vectors, parents=elsewhere)),
        changed(
            task, validation=LabeledQueries(-p.validation.vectors, parents=p.validation.parents)
        ),
        replace(task, test=LabeledQueries(test.vectors.flip(1), parents=test.parents)),
        replace(task, test=LabeledQueries(test.vectors, parents=moved)),
        replace(task, labels=("other", *task.labels[1:])),
        replace(task, name="a b", features="c"),
        replace(task, name="a", features="b c"),
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
    with pytest.raises(FormatError, match=r"task\.npz: not a task file .*; make it with"):
        load_task(path)


def test_encoders_without_known_names_are_refused_and_others_warn(tmp_path: Path) -> None:
    split = read_split(write_split(tmp_path))
    with pytest.raises(ModelError, match="no vector for any name of the taxonomy"):
        make_task("pantry", make_encoder(knowing(["quasar"], tmp_path)), *split)
    encoder = make_encoder(knowing(["milk", "tea"], tmp_path))
    with pytest.warns(UserWarning, match="have no vector in") as warned:
        make_task("pantry", encoder, *split)
    messages = [str(each.message) for each in warned]
    assert [message.partition(" in ")[0] for message in messages] == [
        "55 of 73 concepts have no vector",
        "6 of 8 validation queries have no vector",
        "6 of 8 test queries have no vector",
    ]
    assert all("encoder" in message for message in messages)
    assert {each.filename for each in warned} == {__file__}


def chains(count: int = 2000) -> Task:
    """A deep taxonomy of many relations, one query each."""
    generator = np.random.default_rng(0)
    parents = (generator.random(count - 1) * np.arange(1, count)).astype(np.int64)
    names = [f"c{i}" for i in range(count)]
    taxonomy = Taxonomy.from_columns(names, names, parents, np.arange(1, count))
    vectors = torch.arange(count, dtype=torch.float32).expand(2, 1, count).transpose(1, 2)
    validation, test = (
        LabeledQueries(torch.zeros(2, 1, 1), parents=[np.array(some)])
        for some in ([3, count - 1], [7])
    )
    return Task("chains", "none", Problem(taxonomy, vectors, validation), test, ("query",))


@pytest.mark.parametrize("fraction", [0.1, 0.3])
def test_the_fraction_of_relations_is_rewired_and_nothing_else(fraction: float) -> None:
    task = chains()
    other = rewire_relations(task, fraction, 1)
    old, new = task.problem.taxonomy, other.problem.taxonomy
    assert new.ids == old.ids  # it could not be made if there were a cycle
    lost = set(old.relations) - set(new.relations)
    assert len(lost) / len(old.relations) == pytest.approx(fraction, abs=0.03)
    assert len(set(new.relations) - set(old.relations)) == len(lost)
    assert len(new.relations) == len(old.relations)
    assert new.roots[0] == old.roots[0]
    assert other.test is task.test
    assert other.problem.validation is task.problem.validation
    assert other.problem.vectors is task.problem.vectors
    assert set(rewire_relations(task, fraction, 1).problem.taxonomy.relations) == set(new.relations)
    assert set(rewire_relations(task, fraction, 2).problem.taxonomy.relations) != set(new.relations)


@pytest.mark.parametrize("fraction", [0.2, 0.6])
def test_a_fraction_of_the_leaves_and_all_true_parents_stay(fraction: float) -> None:
    task = chains()
    other = sample_leaves(task, fraction, 1)
    old, new = task.problem.taxonomy, other.problem.taxonomy
    gone = set(old) - set(new)
    assert gone <= set(old.leaves)
    assert len(gone) == pytest.approx((1 - fraction) * len(old.leaves), abs=2)
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
