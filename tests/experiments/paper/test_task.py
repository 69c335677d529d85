from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from splits import pantry_task, same_parents, write_split

from taxoexpan.cli.main import main
from taxoexpan.errors import FormatError, ModelError
from taxoexpan.experiments.methods.method import Problem
from taxoexpan.experiments.paper.perturbed_tasks import rewire_relations, sample_leaves
from taxoexpan.experiments.paper.split import read_split
from taxoexpan.experiments.paper.task import (
    Task,
    make_task,
)
from taxoexpan.experiments.paper.task_file import load_task, task_bytes
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.learned.duplicates import DuplicateCandidates
from taxoexpan.taxonomy import Concept, Taxonomy


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


def prepare(terms: Path, output: Path, *options: str) -> int:
    return main(["reproduce", "prepare", str(terms), "-o", str(output), *options])


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
    with pytest.raises(
        FormatError, match=r"task\.npz: not a task file .*; make it with `taxoexpan reproduce"
    ):
        load_task(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match="the file does not exist; make it with `taxoexpan reproduce prepare"
    ):
        load_task(tmp_path / "task.npz")
    terms = write_split(tmp_path)
    terms.with_name("pantry.terms.test").unlink()
    with pytest.raises(FormatError, match=r"terms\.test: the file does not exist; a split needs"):
        read_split(terms)


def test_a_split_that_holds_nothing_out_is_refused(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    terms.with_name("pantry.terms.validation").write_text("0\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"validation: no listed concept has a parent"):
        read_split(terms)


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


def test_a_single_query_without_a_vector_causes_a_warning(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    names = terms.read_text(encoding="utf-8").replace("green milk", "zzgreen zzmilk")
    terms.write_text(names, encoding="utf-8")
    words = sorted({word for name in names.split() for word in name.split() if "zz" not in word})
    encoder = make_encoder(knowing(words, tmp_path))
    with pytest.warns(UserWarning, match="^1 of 8 test queries have no vector") as warned:
        make_task("pantry", encoder, *read_split(terms))
    assert len(warned) == 1


def test_no_query_is_in_both_lists(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    validation, test = (listed(terms, part) for part in ("validation", "test"))
    known, tested = (path.read_text(encoding="utf-8").split() for path in (validation, test))
    test.write_text("\n".join([*tested, known[3], known[1], known[3]]), encoding="utf-8")
    place = rf"terms\.test, line {len(tested) + 1}: 2 ids also in the validation list"
    with pytest.raises(FormatError, match=rf"{place}, such as '{known[3]}'; keep each id in one"):
        read_split(terms)


def test_an_id_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    once = read_split(terms)[1]
    ids = listed(terms, "test").read_text(encoding="utf-8").split()
    listed(terms, "test").write_text("\n".join([*ids, *ids[:3]]), encoding="utf-8")
    assert read_split(terms)[1].concepts == once.concepts


def test_unusable_ids_cause_a_warning(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    with listed(terms, "test").open("a", encoding="utf-8") as file:
        file.write("0\n")
    message = r"terms\.test: 1 id left out, such as '0': .* without a parent in the"
    with pytest.warns(UserWarning, match=message) as warned:
        validation, test = read_split(terms)
    assert [each.filename for each in warned] == [__file__]
    assert (len(validation.concepts), len(test.concepts)) == (8, 8)
    assert "0" not in test.taxonomy


def test_explicit_lists_allow_any_format(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    table = tmp_path / "table.csv"
    assert main(["convert", str(terms), str(table)]) == 0
    lists = [listed(terms, part).rename(tmp_path / part) for part in ("validation", "test")]
    found = read_split(table, *lists)
    assert len(found[1].concepts) == 8
    for one, other in zip(found, read_split(terms, *lists), strict=True):
        assert one.taxonomy == other.taxonomy
        assert one.concepts == other.concepts
        assert [[one.taxonomy.ids[i] for i in own] for own in one.parents] == [
            [other.taxonomy.ids[i] for i in own] for own in other.parents
        ]


def test_deprecated_concepts_are_left_out(tmp_path: Path) -> None:
    rows = ("1,tea,,", "2,herb tea,,true", "3,green tea,1,", "4,mint tea,1|2,", "5,sage tea,2,")
    table = "\n".join(["id,label,parents,deprecated", *rows, "6,old tea,1,true", ""])
    taxonomy, validation, test = (tmp_path / name for name in ("t.csv", "validation", "test"))
    taxonomy.write_text(table, encoding="utf-8")
    validation.write_text("3\n", encoding="utf-8")
    test.write_text("4\n5\n6\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="2 ids left out, such as '5': deprecated, or"):
        _, held = read_split(taxonomy, validation, test)
    assert [concept.id for concept in held.concepts] == ["4"]
    assert [held.taxonomy.ids[i] for i in held.parents[0]] == ["1"]
    assert held.taxonomy.ids == ("1",)


def test_a_list_has_one_id_per_line_in_any_encoding_variant(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    once = read_split(terms)[1]
    spaced = listed(terms, "test").read_text(encoding="utf-8").split()
    for path in (terms, terms.with_suffix(".taxo")):
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        cells = [[f"{c} é" if c in spaced else c for c in row] for row in rows]
        path.write_text("".join("\t".join(row) + "\n" for row in cells), encoding="utf-8")
    lines = "\r\n\r\n".join(f" {id} é\t" for id in spaced)
    listed(terms, "test").write_bytes(lines.encode("utf-8-sig"))
    test = read_split(terms)[1]
    assert [concept.id for concept in test.concepts] == [f"{c.id} é" for c in once.concepts]
    assert [c.label for c in test.concepts] == [c.label for c in once.concepts]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"10\n\n99999\n", r", line 3: no concept .* has the id '99999'; correct or remove"),
        (b"10 11\n", r", line 1: no concept .* has the id '10 11'"),
        (b"10\n\xe9\n", r", line 2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        ("10\n".encode("utf-16"), r": the file is UTF-16; save it as UTF-8"),
    ],
)
@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_wrong_list_is_refused_with_its_line(
    part: str, content: bytes, message: str, tmp_path: Path
) -> None:
    terms = write_split(tmp_path)
    listed(terms, part).write_bytes(content)
    with pytest.raises(FormatError, match=rf"pantry\.terms\.{part}{message}"):
        read_split(terms)


def test_a_split_without_relations_is_refused_with_their_file(tmp_path: Path) -> None:
    terms = write_split(tmp_path)
    taxo = terms.with_suffix(".taxo")
    taxo.write_text("\n", encoding="utf-8")
    with pytest.raises(
        FormatError, match=r"pantry\.taxo: the file has no relations; it must hold the relations of"
    ):
        read_split(terms)
    taxo.unlink()
    with pytest.raises(
        FormatError, match=r"pantry\.taxo: the file does not exist; it must hold the relations of"
    ):
        read_split(terms)


@pytest.mark.parametrize("name", ["pantry.csv", "pantry.taxo"])
def test_only_terms_files_have_default_lists(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms, other = write_split(tmp_path), tmp_path / name
    if not other.exists():
        assert main(["convert", str(terms), str(other)]) == 0
    for part in ("validation", "test"):
        listed(terms, part).rename(listed(other, part))
    assert prepare(other, tmp_path / "task.npz") == 2
    message = capsys.readouterr().err
    assert (
        f"{name}: the lists of a split are only found next to a .terms file; give NAME.terms"
        in message
    )
    assert not (tmp_path / "task.npz").exists()


@pytest.mark.parametrize("name", ["task.json", "task", "task.npz.gz"])
def test_a_task_is_written_as_npz_only(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms = write_split(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "taxoexpan.experiments.paper.split.read_split", lambda _: pytest.fail("too late")
        )
        assert prepare(terms, tmp_path / name) == 2
    assert f"{name}: a task file must end in .npz" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_the_note_uses_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = write_split(tmp_path)
    ids = listed(terms, "test").read_text(encoding="utf-8").split()
    listed(terms, "test").write_text(ids[0], encoding="utf-8")
    assert prepare(terms, tmp_path / "TASK.NPZ") == 0
    assert "80 concepts and 1 test query\n" in capsys.readouterr().err


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
