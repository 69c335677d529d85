from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from builders import pantry_csv, random_taxonomy, star
from conftest import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import Concept, Taxonomy
from taxoexpan.cleaning import Doubt, Training, clean, doubts_csv
from taxoexpan.cleaning.doubts import COLUMNS
from taxoexpan.cleaning.folds import asked_for, groups_of, masked
from taxoexpan.cleaning.judging import Judgements, judge
from taxoexpan.cleaning.keeping import FoldFiles, remove_folds
from taxoexpan.cleaning.running import _identity
from taxoexpan.errors import ConfigurationError, FormatError, ModelError

TRAINING = Training(seed=1, device="cpu", settings=SMALL)
QUICK = Training(seed=1, device="cpu", settings={**SMALL, "epochs": 2})
MISPLACED = {"oat milk": "tea", "rye bread": "berry", "goat cheese": "soup", "red apple": "sauce"}


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Taxonomy:
    """The pantry with four foods on the wrong shelf, and one on two."""
    text = pantry_csv() + "green tea,soup\n"
    for food, shelf in MISPLACED.items():
        text = text.replace(f"\n{food},{food.split()[1]}\n", f"\n{food},{shelf}\n")
    path = tmp_path_factory.mktemp("messy") / "messy.csv"
    path.write_text(text, encoding="utf-8")
    return Taxonomy.read(path)


@pytest.fixture(scope="module")
def kept(messy: Taxonomy, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Doubt], Path]:
    """What a short cleaning finds, and its folds."""
    work = tmp_path_factory.mktemp("work") / "folds"
    return clean(messy, QUICK, folds=2, work=work), work


@given(st.integers(0, 10_000), st.integers(2, 7), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_concept_that_is_asked_for_is_in_one_group(
    seed: int, folds: int, inner: bool
) -> None:
    taxonomy = random_taxonomy(seed, 40)
    concepts = asked_for(taxonomy, inner)
    groups = groups_of(concepts, folds, seed)
    assert sorted(np.concatenate(groups).tolist()) == concepts.tolist()
    assert max(map(len, groups)) - min(map(len, groups)) <= 1
    assert {taxonomy.ids[i] for i in concepts} == {
        id for id in taxonomy if taxonomy.parents(id) and (inner or not taxonomy.children(id))
    }


def test_groups_depend_on_the_seed_alone() -> None:
    concepts = np.arange(50)
    one, same, other = (groups_of(concepts, 5, seed) for seed in (3, 3, 4))
    assert all(map(np.array_equal, one, same))
    assert not all(map(np.array_equal, one, other))


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_masking_hides_the_way_up_and_nothing_else(seed: int) -> None:
    taxonomy = random_taxonomy(seed, 40)
    queries = groups_of(asked_for(taxonomy, inner=True), 3, seed)[0]
    asked = {taxonomy.ids[i] for i in queries}
    rest = masked(taxonomy, queries)
    leaves = asked.intersection(taxonomy.leaves)
    assert set(rest.concepts) == {c for c in taxonomy.concepts if c.id not in leaves}
    assert set(rest.relations) == {pair for pair in taxonomy.relations if pair[1] not in asked}


def test_misplaced_leaves_come_first_with_the_right_place_beside_them(messy: Taxonomy) -> None:
    doubts = clean(messy, TRAINING, folds=4)
    assert len(doubts) == 81  # one of eighty leaves has two parents
    first = doubts[: len(MISPLACED)]
    assert {doubt.concept.label: doubt.parent.label for doubt in first} == MISPLACED
    for doubt in first:
        kind = doubt.concept.label.split()[1]
        assert (doubt.better.label, doubt.better_path) == (kind, ("food", kind))
        assert doubt.path == ("food", doubt.parent.label)
        assert doubt.rank > 1
        assert doubt.better_share > doubt.share
    assert [d.suspicion for d in doubts] == sorted((d.suspicion for d in doubts), reverse=True)


def slowly_judged(
    taxonomy: Taxonomy, queries: list[int], training: Training
) -> dict[tuple[str, str], tuple[int, float, str, float]]:
    """Rank, share, better place and its share of each relation, by the model's own suggestions."""
    model = training.model().fit(masked(taxonomy, np.array(queries)))
    found = {}
    for id in (taxonomy.ids[i] for i in queries):
        parents, above = taxonomy.parents(id), taxonomy.ancestors(id)
        closed = {id, *taxonomy.descendants(id)}
        places = model.rank([taxonomy.concept(id)], top_k=len(taxonomy))
        places = [place for place in places if place.parent.id not in closed]
        total = sum(place.score for place in places)
        shares = {place.parent.id: place.score / total for place in places}
        other = next(place for place in shares if place not in above)
        for parent in parents:
            rivals = [place for place in shares if place == parent or place not in parents]
            rank = 1 + rivals.index(parent)
            found[parent, id] = rank, shares[parent], other, shares[other]
    return found


@pytest.mark.parametrize("inner", [False, True])
def test_relations_are_judged_as_the_models_own_ranking_says(messy: Taxonomy, inner: bool) -> None:
    deep = [*messy.relations, ("milk", "tea"), ("rye bread", "blue berry")]
    taxonomy = Taxonomy(messy.concepts, deep)
    queries = groups_of(asked_for(taxonomy, inner), 3, seed=5)[1]
    judged = judge(taxonomy, queries, QUICK)
    slow = slowly_judged(taxonomy, queries.tolist(), QUICK)
    assert len(judged.ranks) == len(slow)
    for row in range(len(judged.ranks)):
        relation = taxonomy.ids[judged.parents[row]], taxonomy.ids[judged.concepts[row]]
        rank, share, other, other_share = slow.pop(relation)
        assert judged.ranks[row] == rank
        assert np.exp(judged.shares[row]) == pytest.approx(share, rel=1e-3)
        assert taxonomy.ids[judged.others[row]] == other
        assert np.exp(judged.other_shares[row]) == pytest.approx(other_share, rel=1e-3)
    assert not slow


def test_an_inner_concept_is_never_put_under_its_own_descendants(messy: Taxonomy) -> None:
    taxonomy = Taxonomy(messy.concepts, [*messy.relations, ("oat milk", "black tea")])
    doubts = clean(taxonomy, QUICK, folds=2, inner=True)
    assert {(d.parent.id, d.concept.id) for d in doubts} == set(taxonomy.relations)
    for doubt in doubts:
        below = {doubt.concept.id, *taxonomy.descendants(doubt.concept.id)}
        assert doubt.better.id not in below.union(taxonomy.ancestors(doubt.concept.id))


def test_several_processes_find_the_same(kept: tuple[list[Doubt], Path], messy: Taxonomy) -> None:
    assert clean(messy, QUICK, folds=2, jobs=2) == kept[0]


def test_what_fails_in_a_process_is_told() -> None:
    with pytest.raises(ModelError, match=r"^fold \d: nothing to learn from"):
        clean(star(2), QUICK, folds=2, jobs=2)


def test_deprecated_concepts_take_no_part(messy: Taxonomy) -> None:
    retired = {"oat milk", "tea"}
    concepts = [Concept(c.id, c.label, deprecated=c.id in retired) for c in messy.concepts]
    doubts = clean(Taxonomy(concepts, messy.relations), QUICK, folds=2)
    told = {c.id for d in doubts for c in (d.concept, d.parent, d.better)}
    assert not retired & told
    assert len(doubts) == 70  # the nine other teas are roots now, but green tea is a soup still


def test_where_there_is_no_other_place_there_is_no_doubt() -> None:
    chain = Taxonomy.from_columns("abcde", "abcde", np.arange(4), np.arange(1, 5))
    assert not len(judge(chain, np.array([2]), QUICK).ranks)


def test_a_fold_that_is_kept_is_not_computed_again(
    kept: tuple[list[Doubt], Path], messy: Taxonomy
) -> None:
    doubts, work = kept
    assert sorted(path.name for path in work.iterdir()) == ["fold-1.npz", "fold-2.npz"]
    lines: list[str] = []
    assert clean(messy, QUICK, folds=2, work=work, tell=lines.append) == doubts
    assert lines == ["2 of 2 folds are kept from before"]
    files = FoldFiles(work, _identity(QUICK.model(), messy, 2, inner=False))
    before = files.load()[1]
    files.save(1, Judgements(**{**before.columns(), "ranks": before.ranks + 1000}))
    again = clean(messy, QUICK, folds=2, work=work)
    files.save(1, before)
    assert sum(doubt.rank > 1000 for doubt in again) == len(before.ranks)


def test_a_run_that_was_stopped_goes_on(
    kept: tuple[list[Doubt], Path], messy: Taxonomy, tmp_path: Path
) -> None:
    work = tmp_path / "folds"

    def stop(line: str) -> None:
        if line.startswith("1 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clean(messy, QUICK, folds=2, work=work, tell=stop)
    assert [path.name for path in work.iterdir()] == ["fold-1.npz"]
    assert clean(messy, QUICK, folds=2, work=work) == kept[0]


@pytest.mark.parametrize(
    "change",
    [
        {"folds": 3},
        {"inner": True},
        {"training": Training(seed=2, device="cpu", settings=QUICK.settings)},
        {"training": TRAINING},
    ],
)
def test_folds_of_another_run_are_refused(
    kept: tuple[list[Doubt], Path], messy: Taxonomy, change: dict[str, object]
) -> None:
    given: dict[str, object] = {"training": QUICK, "folds": 2, **change}
    with pytest.raises(FormatError, match=r"another run.*give the same again, remove .*--work"):
        clean(messy, work=kept[1], **given)  # type: ignore[arg-type]


def test_folds_of_another_taxonomy_are_refused(
    kept: tuple[list[Doubt], Path], messy: Taxonomy
) -> None:
    other = Taxonomy(messy.concepts, [*messy.relations, ("milk", "green tea")])
    with pytest.raises(FormatError, match="another taxonomy"):
        clean(other, QUICK, folds=2, work=kept[1])


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_fold_is_refused_or_read_as_it_was(
    kept: tuple[list[Doubt], Path], data: st.DataObject
) -> None:
    path = kept[1] / "fold-2.npz"
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:place]
    if data.draw(st.booleans()):
        damaged += bytes([whole[place] ^ (1 << data.draw(st.integers(0, 7)))]) + whole[place + 1 :]
    folder = kept[1].with_name("damaged")
    folder.mkdir(exist_ok=True)
    (folder / path.name).write_bytes(damaged)
    with np.load(path) as columns:
        identity, ranks = str(columns["identity"]), columns["ranks"]
    try:
        read = FoldFiles(folder, identity).load()
    except FormatError as error:
        assert "fold-2.npz" in str(error)  # noqa: PT017
        assert "remove" in str(error)  # noqa: PT017
    else:
        assert np.array_equal(read[2].ranks, ranks)


def test_a_fold_with_columns_of_unlike_length_is_refused(tmp_path: Path) -> None:
    ends = np.arange(3)
    FoldFiles(tmp_path, "x").save(1, Judgements(ends, ends, ends[:2], ends * 0.1, ends, ends * 0.1))
    with pytest.raises(FormatError, match="ranks is not as long"):
        FoldFiles(tmp_path, "x").load()


def test_only_folds_are_removed(tmp_path: Path) -> None:
    for name in ("fold-1.npz", "fold-12.npz", "fold-x.npz"):
        (tmp_path / name).touch()
    remove_folds(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fold-x.npz"]
    remove_folds(tmp_path / "none")


def test_what_cannot_be_cleaned_is_refused(messy: Taxonomy) -> None:
    for changes, message in (
        ({"folds": 1}, "folds is 1; it must be a whole number, at least 2"),
        ({"folds": 81}, "80 concepts to ask for cannot make 81 folds"),
        ({"jobs": 0}, "jobs is 0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            clean(messy, QUICK, **changes)
    with pytest.raises(ConfigurationError, match="seed is -1"):
        clean(messy, Training(seed=-1))


def test_the_table_has_a_row_for_each_doubt(kept: tuple[list[Doubt], Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(doubts_csv(kept[0]))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(kept[0])
    for row, doubt in zip(rows, kept[0], strict=True):
        assert (row["concept_id"], row["parent_id"]) == (doubt.concept.id, doubt.parent.id)
        assert row["path"].split(" > ") == list(doubt.path)
        assert float(row["share"]) == pytest.approx(doubt.share, rel=1e-5)
        assert float(row["suspicion"]) == pytest.approx(doubt.suspicion, rel=1e-5)
