from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from builders import KINDS, SORTS, pantry_csv, random_taxonomy, star
from conftest import SMALL
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.curation.cleaning import Doubt, Training, clean, doubts_csv
from taxoexpan.curation.cleaning.doubts import COLUMNS
from taxoexpan.curation.cleaning.fold_files import FoldFiles, remove_folds
from taxoexpan.curation.cleaning.folds import asked_for, groups_of, masked
from taxoexpan.curation.cleaning.judgements import Judgements
from taxoexpan.curation.cleaning.judging import judge
from taxoexpan.curation.cleaning.reasons import Fold
from taxoexpan.curation.cleaning.self_cleaning import EXPLAINED, _identity
from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.explain import moved_in_words, read_evidence
from taxoexpan.taxonomy.arrays import Indices

TRAINING = Training(seed=1, device="cpu", settings=SMALL)
QUICK = Training(seed=1, device="cpu", settings={**SMALL, "epochs": 2})
# More than half of the leaves are held out, so that there are enough to learn how sure to be.
SURE = Training(seed=1, device="cpu", settings={**SMALL, "epochs": 3, "validation_fraction": 0.6})
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
def larder() -> Taxonomy:
    """The pantry with more sorts of food, some of them deeper down, and one in two places."""
    sorts = [*SORTS, "white", "dark", "cold", "hot", "sweet", "sour", "fresh", "dry", "old"]
    foods = [(f"{sort} {kind}", kind) for kind in KINDS for sort in sorts]
    deeper = [
        (f"{size} {sort} apple", f"{sort} apple") for sort in SORTS for size in ("big", "ripe")
    ]
    pairs = [("food", kind) for kind in KINDS] + [(up, down) for down, up in foods + deeper]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return Taxonomy([Concept(name, name) for name in names], [*pairs, ("soup", "green tea")])


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
    assume(len(concepts) >= folds)  # fewer are refused
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
    judged = judge(taxonomy, queries, QUICK).judgements
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


@dataclass(frozen=True)
class Tried:
    """A fold of the larder, the queries that were masked, and the same model outside it."""

    queries: Indices
    fold: Fold
    model: TaxoExpan


@pytest.fixture(scope="module", params=[False, True], ids=["leaves", "inner"])
def tried(request: pytest.FixtureRequest, larder: Taxonomy) -> Tried:
    queries = groups_of(asked_for(larder, request.param), 3, seed=5)[1]
    fold = judge(larder, queries, SURE, explained=40)
    return Tried(queries, fold, SURE.model().fit(masked(larder, queries)))


def test_confidences_are_what_the_models_own_calibration_makes_of_all_places(
    larder: Taxonomy, tried: Tried
) -> None:
    judged, model = tried.fold.judgements, tried.model
    calibration = model.calibrators.calibration
    assert calibration is not None
    firsts = 0
    for row, concept in enumerate(judged.concepts.tolist()):
        id = larder.ids[concept]
        closed = {id, *larder.descendants(id)}
        places = model.rank([larder.concept(id)], top_k=len(larder))
        shares = {p.parent.id: p.score for p in places if p.parent.id not in closed}
        tempered = np.array(list(shares.values()), np.float64) ** (1 / calibration.temperature)
        sure = calibration.confidence((tempered / tempered.sum())[None])[0]
        by_place = dict(zip(shares, sure.tolist(), strict=True))
        parent, other = (larder.ids[each[row]] for each in (judged.parents, judged.others))
        assert judged.confidences[row] == pytest.approx(by_place[parent], rel=1e-3)
        assert judged.other_confidences[row] == pytest.approx(by_place[other], rel=1e-3)
        if larder.children(id):
            continue
        # Where nothing is closed, it is what a suggestion would say.
        said = {place.parent.id: place.confidence for place in places}
        assert judged.confidences[row] == pytest.approx(said[parent], rel=1e-3)
        firsts += next(iter(shares)) in (parent, other)
    assert 0 < firsts < 2 * len(judged.concepts)  # the curves of first and of later places


def test_where_too_few_leaves_are_left_no_confidence_is_told(
    kept: tuple[list[Doubt], Path],
) -> None:
    for doubt in kept[0]:
        assert doubt.confidence is None
        assert doubt.parent_confidence is None
    rows = list(csv.DictReader(io.StringIO(doubts_csv(kept[0]))))
    assert {(row["confidence"], row["parent_confidence"]) for row in rows} == {("", "")}


def test_reasons_compare_the_better_place_with_the_present_one(
    larder: Taxonomy, tried: Tried
) -> None:
    fold, judged, remaining = tried.fold, tried.fold.judgements, tried.model.taxonomy
    vectors = tried.model._embed(larder.concepts)[0].cpu().numpy()
    assert [(reason.concept, reason.parent) for reason in fold.reasons] == [
        (judged.concepts[row], judged.parents[row]) for row in judged.order[:40]
    ]
    for row, reason in zip(judged.order.tolist(), fold.reasons, strict=False):
        evidence = read_evidence(reason.evidence)
        assert evidence.as_dict() == reason.evidence
        assert evidence.query.id == larder.ids[reason.concept]
        places = judged.others[row], judged.parents[row]
        shares = judged.other_shares[row], judged.shares[row]
        for place, share, told in zip(places, shares, evidence.support, strict=True):
            id = larder.ids[place]
            assert told.parent.id == id
            assert told.path == larder.path(id)
            assert told.score == pytest.approx(math.exp(share), rel=1e-4)
            others = set(larder.children(id)) - {evidence.query.id}
            assert told.child_count == len(others)
            near = {
                child: vectors[larder.index(child)] @ vectors[reason.concept]
                for child in remaining.children(id)
            }
            best = sorted(near.values(), reverse=True)[:3]
            assert [child.cosine for child in told.children] == pytest.approx(best, abs=1e-3)
            for child in told.children:
                assert child.cosine == pytest.approx(near[child.concept.id], abs=1e-3)
        assert evidence.contest is not None
        suspicion = judged.suspicions[row]
        assert evidence.contest.margin == pytest.approx(suspicion, abs=2e-3)
        why = moved_in_words(evidence)
        assert ("still preferred" in why) == (evidence.contest.margin < 0)
        assert f" under {evidence.support[1].parent.label}" in why


def test_as_many_are_explained_as_were_asked_for(messy: Taxonomy) -> None:
    doubts = clean(messy, QUICK, folds=2, explained=5)
    assert sum(doubt.evidence is not None for doubt in doubts) == 10
    assert all(doubt.why for doubt in doubts[:5])  # whichever folds they are of
    for doubt in doubts:
        assert bool(doubt.why) == (doubt.evidence is not None)
    plain = clean(messy, QUICK, folds=2, explained=0)
    assert plain == [replace(doubt, evidence=None) for doubt in doubts]


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
    fold = judge(chain, np.array([2]), QUICK, explained=3)
    assert not len(fold.judgements.ranks)
    assert fold.reasons == ()


def test_a_fold_that_is_kept_is_not_computed_again(
    kept: tuple[list[Doubt], Path], messy: Taxonomy
) -> None:
    doubts, work = kept
    assert sorted(path.name for path in work.iterdir()) == ["fold-1.npz", "fold-2.npz"]
    lines: list[str] = []
    assert clean(messy, QUICK, folds=2, work=work, tell=lines.append) == doubts
    assert lines == ["2 of 2 folds are kept from before"]
    files = FoldFiles(work, _identity(QUICK.model(), messy, 2, False, EXPLAINED))
    before = files.load()[1]
    columns = before.judgements.columns()
    changed = {"ranks": columns["ranks"] + 1000, "confidences": columns["shares"] * 0 + 0.25}
    reasons = tuple(
        replace(reason, evidence={**reason.evidence, "known": False}) for reason in before.reasons
    )
    files.save(1, Fold(Judgements(**{**columns, **changed}), reasons))
    again = clean(messy, QUICK, folds=2, work=work)
    files.save(1, before)
    for doubt in again:
        assert doubt.why.startswith("Nothing is known of its words") == (doubt.rank > 1000)
        assert doubt.parent_confidence == (0.25 if doubt.rank > 1000 else None)
    assert sum(doubt.rank > 1000 for doubt in again) == len(columns["ranks"])


def test_confidences_and_reasons_are_kept_as_they_were(tried: Tried, tmp_path: Path) -> None:
    fold, files = tried.fold, FoldFiles(tmp_path, "x")
    files.save(1, fold)
    read = files.load()[1]
    assert read.reasons == fold.reasons
    assert len(read.reasons) == 40
    assert np.isfinite(read.judgements.other_confidences).all()
    for name, column in fold.judgements.columns().items():
        assert np.array_equal(read.judgements.columns()[name], column)


@pytest.mark.parametrize("missing", ["other_confidences", "reasons"])
def test_a_fold_of_an_earlier_layout_is_refused_with_the_mend(
    kept: tuple[list[Doubt], Path], messy: Taxonomy, tmp_path: Path, missing: str
) -> None:
    for path in kept[1].iterdir():
        with np.load(path) as columns:
            earlier = {name: columns[name] for name in columns.files if name != missing}
        np.savez(tmp_path / path.name, **earlier)
    message = f"fold-1.npz.*{missing}.*remove it, and it is computed again"
    with pytest.raises(FormatError, match=message):
        clean(messy, QUICK, folds=2, work=tmp_path)


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
        {"explained": EXPLAINED + 1},
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
        assert np.array_equal(read[2].judgements.ranks, ranks)


def test_a_fold_with_columns_of_unlike_length_is_refused(tmp_path: Path) -> None:
    ends, part = np.arange(3), np.arange(3) * 0.1
    FoldFiles(tmp_path, "x").save(
        1, Fold(Judgements(ends, ends, ends[:2], part, ends, part, part, part))
    )
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
        ({"explained": -1}, "explained is -1; it must be a whole number, at least 0"),
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
        assert row["why"] == doubt.why


def test_a_row_tells_how_sure_it_is_of_both_places(kept: tuple[list[Doubt], Path]) -> None:
    doubt = replace(kept[0][0], confidence=0.123456, parent_confidence=1e-7)
    (row,) = csv.DictReader(io.StringIO(doubts_csv([doubt])))
    assert (row["confidence"], row["parent_confidence"]) == ("0.1235", "0.0")
    assert doubt.evidence is not None
    assert doubt.as_json() == {**doubt.as_dict(), "evidence": doubt.evidence.as_dict()}
    assert replace(doubt, evidence=None).as_json()["evidence"] is None


def test_growth_is_not_rehearsed_where_loose_leaves_are_judged() -> None:
    with pytest.raises(ConfigurationError, match="leave out validation"):
        Training(settings={"validation": "growth"}).model()
    assert Training().model().config.validation == "leaves"
