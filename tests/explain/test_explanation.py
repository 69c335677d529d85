from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from builders import random_taxonomy, star
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference_network import double_precision

from taxoexpan import TaxoExpan
from taxoexpan.config import load_preset
from taxoexpan.explain import (
    Evidence,
    explain,
    explanation,
    in_words,
    moved_in_words,
    read_evidence,
)
from taxoexpan.explain.counterfactuals import MOST, try_removals
from taxoexpan.explain.evidence import Child, Contest, Mention, Parts, Removal, Support, Weighing
from taxoexpan.explain.neighbourhood import Pairs, look_around
from taxoexpan.explain.shared_words import name_words, shared, words_of
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Siblings, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Anchors, Ranker, Ranking
from taxoexpan.taxonomy import Concept, Taxonomy

SIZE, QUERIES = 6, 4
GAIN = 0.75
"""What anchors without children gain."""
VARIANTS = [
    {"propagation": propagation, "fusion_dim": fusion, "readout": readout, "matching": matching}
    for propagation, readout, matching in (
        ("gcn", "mean", "bilinear"),
        ("gat", "concat", "mlp"),
        ("pgcn", "concat-egonet", "bilinear"),
        ("pgat", "weighted", "bilinear"),
    )
    for fusion in (0, 3)
]
of_the_variants = pytest.mark.parametrize(
    "variant", VARIANTS, ids=lambda v: f"{v['propagation']}-{v['fusion_dim']}"
)


def unit(vectors: torch.Tensor) -> torch.Tensor:
    return vectors / vectors.norm(dim=-1, keepdim=True)


def random_network(seed: int, **variant: object) -> MatchingNetwork:
    sizes = {"hidden_dim": 3, "num_heads": 2, "embedding_dim": 4, "position_dim": 2}
    network = MatchingNetwork(load_preset("best", **{**sizes, **variant}), SIZE).eval()
    drawn = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.data.normal_(generator=drawn)
    return network


def random_vectors(seed: int, count: int) -> torch.Tensor:
    """Unit vectors [2, count, 6]; head words are few."""
    drawn = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2, count, SIZE, generator=drawn)
    vectors[1] = vectors[1][torch.randint(count, (count,), generator=drawn) // 2]
    return unit(vectors)


def without_relation(taxonomy: Taxonomy, parent: int, child: int) -> Taxonomy:
    parents, children = taxonomy.relation_indices
    kept = (parents != parent) | (children != child)
    return Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, parents[kept], children[kept])


def fixed_keys(
    network: MatchingNetwork, old: Taxonomy, new: Taxonomy, names: torch.Tensor, siblings: int
) -> torch.Tensor:
    """The keys of a taxonomy that has lost a relation; what is shown of it was chosen before."""
    everyone = np.arange(len(old))
    shown = spread_siblings(old, everyone, siblings)
    pairs = zip(shown.sibling_of, old.children_of.targets[shown.places], strict=True)
    owners, targets = new.children_of.of_many(everyone)
    places = {pair: place for place, pair in enumerate(zip(owners, targets, strict=True))}
    left = [(places[pair], pair[0]) for pair in pairs if pair in places]
    chosen, sibling_of = np.array(left, dtype=np.int64).reshape(-1, 2).T
    egonets = build_egonets(new, everyone, Siblings(chosen, sibling_of))
    return network.encode(names[egonets.concepts], egonets)


def two_each(ranking: Ranking) -> Pairs:
    count = len(ranking.anchors)
    return Pairs(np.tile(np.arange(count), 2), ranking.anchors[:, :2].T.ravel())


def agrees_with_real_removals(seed: int, siblings: int, variant: dict[str, object]) -> None:
    with double_precision(), torch.no_grad():
        taxonomy = random_taxonomy(seed, count=5 + seed % 12)
        network = random_network(seed, **variant)
        both = random_vectors(seed, len(taxonomy))
        queries = Queries(random_vectors(seed + 1, QUERIES))
        vectors = ConceptVectors.of(both)
        anchors = Anchors(taxonomy, vectors, siblings)
        ranker = Ranker(network, anchors)
        ranking, plain = ranker.rank(queries, 2), ranker.scores(queries).numpy()
        around = look_around(anchors, two_each(ranking), queries.vectors)
        ranker = ranker.with_leaf_bonus(GAIN)
        scores, removals = try_removals(ranker, around, queries)
        whole = ranker.scores(queries).numpy()
        assert np.allclose(scores.total, plain[around.pairs.anchor, around.pairs.query])

        @cache
        def after(parent: int, child: int) -> NDArray[np.float64]:
            fewer = without_relation(taxonomy, parent, child)
            left = Anchors(fewer, vectors, siblings)
            keys = left.encode(network)
            if siblings < len(taxonomy):
                keys = fixed_keys(network, taxonomy, fewer, both[0], siblings)
            return Ranker(network, left, keys, GAIN).scores(queries).numpy()

        tried = set()
        for query, anchor, neighbour, is_child, change in zip(
            *(removals.query, removals.anchor, removals.neighbour, removals.is_child),
            removals.change,
            strict=True,
        ):
            relation = (anchor, neighbour) if is_child else (neighbour, anchor)
            tried.add((query, *relation))
            first, second = ranking.anchors[query]
            before, then = whole[:, query], after(*relation)[:, query]
            margin = before[first] - before[second] - change
            assert np.isclose(margin, then[first] - then[second])
        parents, children = taxonomy.relation_indices
        assert tried == {
            (query, parent, child)
            for query, two in enumerate(ranking.anchors.tolist())
            for parent, child in zip(parents.tolist(), children.tolist(), strict=True)
            if parent in two or child in two
        }


@of_the_variants
@given(seed=st.integers(0, 10_000))
@settings(max_examples=4, deadline=None)
def test_leaving_a_neighbour_out_is_removing_the_relation(
    seed: int, variant: dict[str, object]
) -> None:
    agrees_with_real_removals(seed, 100, variant)


@of_the_variants
@given(seed=st.integers(0, 10_000))
@settings(max_examples=3, deadline=None)
def test_where_an_egonet_shows_some_children_the_others_shown_stay(
    seed: int, variant: dict[str, object]
) -> None:
    agrees_with_real_removals(seed, 2, variant)


def small_case(seed: int = 3, count: int = 40, **variant: object) -> tuple[Ranker, Queries]:
    taxonomy = random_taxonomy(seed, count=count)
    network = random_network(seed, **variant)
    anchors = Anchors(taxonomy, ConceptVectors.of(random_vectors(seed, count)), 5)
    concepts = [Concept("", f"query {i}") for i in range(11)]
    queries = Queries(random_vectors(seed + 1, 11), concepts=concepts)
    return Ranker(network, anchors), queries


def test_the_parts_add_up_to_the_score_that_ranks() -> None:
    ranker, queries = small_case(use_mentions=True)
    said = Mentions.from_rows(
        [
            [
                (i, MentionKind.FIRST_IN_DEFINITION),
                (i + 1, MentionKind.NAME_ENDING),
                (i, MentionKind.SAME_NAME),
            ]
            for i in range(11)
        ]
    )
    ranker, queries = ranker.with_leaf_bonus(GAIN), replace(queries, mentions=said)
    ranking = ranker.rank(queries, 3)
    scores = ranker.scores(queries)
    found = explain(ranker, queries, ranking)
    for query, evidence in enumerate(found):
        first, second, _ = ranking.anchors[query].tolist()
        assert evidence.contest is not None
        assert evidence.parts.total == pytest.approx(float(scores[first, query]), abs=1e-4)
        total = evidence.contest.parts.total
        assert total == pytest.approx(float(scores[second, query]), abs=1e-4)
        assert evidence.contest.margin == pytest.approx(evidence.parts.total - total)
        gained = sum(mention.bonus for mention in evidence.first.mentions)
        assert evidence.parts.mentions == pytest.approx(gained)
    assert any(evidence.parts.mentions for evidence in found)
    assert {evidence.parts.leaf_bonus for evidence in found} == {0.0, GAIN}


def test_the_nearest_children_and_their_cosines_are_told_of_every_suggestion() -> None:
    ranker, queries = small_case()
    ranking = ranker.rank(queries, 4)
    taxonomy, names = ranker.anchors.taxonomy, ranker.anchors.vectors.names
    vectors = queries.vectors
    for query, evidence in enumerate(explain(ranker, queries, ranking)):
        assert len(evidence.support) == 4
        for place, support in enumerate(evidence.support):
            anchor = int(ranking.anchors[query, place])
            assert support.parent.id == taxonomy.ids[anchor]
            assert support.path == taxonomy.path(taxonomy.ids[anchor])
            assert support.score == ranking.scores[query, place]
            assert support.cosine == pytest.approx(float(names[anchor] @ vectors[0, query]))
            children = taxonomy.children_of.of(anchor)
            cosines = (names[children.tolist()] @ vectors[0, query]).tolist()
            nearest = sorted(zip(cosines, children, strict=True), reverse=True)[:3]
            assert [c.concept.id for c in support.children] == [f"c{i}" for _, i in nearest]
            told = [child.cosine for child in support.children]
            assert told == pytest.approx([cosine for cosine, _ in nearest], abs=1e-6)
            assert support.child_count == len(children)


def test_queries_in_blocks_are_explained_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker, queries = small_case(use_mentions=True)
    said = Mentions.from_rows([[(i, MentionKind.FIRST_IN_DEFINITION)] for i in range(11)])
    queries = replace(queries, mentions=said)
    ranking = ranker.rank(queries, 3)
    whole = explain(ranker, queries, ranking)
    for limit, size in (("QUERIES", 3), ("NEIGHBOURS", 9)):
        with monkeypatch.context() as patched:
            patched.setattr(explanation, limit, size)
            parts = explain(ranker, queries, ranking)
        for one, other in zip(whole, parts, strict=True):
            assert in_words(one) == in_words(other)
            assert one.parts.total == pytest.approx(other.parts.total, abs=1e-4)
    assert explain(ranker, queries[:0], Ranking(*np.zeros((3, 0, 3), int))) == []


def test_the_decisive_removal_is_the_one_that_changes_most() -> None:
    ranker, queries = small_case(seed=5)
    ranking = ranker.rank(queries, 2)
    around = look_around(ranker.anchors, two_each(ranking), queries.vectors)
    _, removals = try_removals(ranker, around, queries)
    outcomes = set()
    for query, evidence in enumerate(explain(ranker, queries, ranking)):
        assert evidence.contest is not None
        changes = removals.change[removals.query == query]
        decisive = evidence.contest.decisive
        if not len(changes) or changes.max() <= 0:
            assert decisive is None
            continue
        assert decisive is not None
        margin = evidence.contest.margin - changes.max()
        assert decisive.margin == pytest.approx(margin, abs=1e-5)
        assert decisive.reverses == (margin < 0)
        outcomes.add(decisive.reverses)
    assert outcomes == {True, False}


def test_of_a_hub_the_nearest_children_are_tried_and_always_the_rival() -> None:
    taxonomy, drawn = star(100), torch.Generator().manual_seed(0)
    names = unit(torch.randn(101, SIZE, generator=drawn))
    anchors = Anchors(taxonomy, ConceptVectors.of(names.repeat(2, 1, 1)), 5)
    query = names[None, [7]].repeat(2, 1, 1)
    cosines = names[1:] @ names[7]
    rival = 1 + int(cosines.argmin())
    around = look_around(anchors, Pairs(np.array([0, 0]), np.array([0, rival])), query)
    _, removals = try_removals(Ranker(random_network(0), anchors), around, Queries(query))
    tried = removals.neighbour[(removals.anchor == 0) & removals.is_child].tolist()
    nearest = (1 + cosines.argsort(descending=True)[: MOST - 1]).tolist()
    assert tried == [rival, *nearest]


def test_a_single_suggestion_has_no_contest() -> None:
    ranker, queries = small_case()
    for evidence in explain(ranker, queries, ranker.rank(queries, 1)):
        assert evidence.contest is None
        assert "ext best" not in in_words(evidence)


@pytest.mark.parametrize("readout", ["mean", "weighted", "concat", "concat-egonet"])
def test_the_shares_of_positions_are_those_of_the_readout(readout: str) -> None:
    ranker, queries = small_case(readout=readout)
    ranking = ranker.rank(queries, 1)
    taxonomy, weights = ranker.anchors.taxonomy, ranker.network.readout.weights().tolist()
    for anchor, evidence in zip(
        ranking.anchors[:, 0], explain(ranker, queries, ranking), strict=True
    ):
        above = len(taxonomy.parents_of.of(anchor))
        below = min(5, len(taxonomy.children_of.of(anchor)))
        if readout == "concat":
            shares = [float(above > 0), 1.0, float(below > 0)]
        elif readout == "concat-egonet":
            nodes = above + 1 + below
            shares = [above / nodes, 1.0, below / nodes]
        else:
            shares = [w * n for w, n in zip(weights, (above, 1, below), strict=True)]
        told = evidence.weighing
        expected = [share / sum(shares) for share in shares]
        assert [told.grandparents, told.anchor, told.siblings] == pytest.approx(expected)


@pytest.mark.parametrize(("propagation", "heeds"), [("gat", True), ("pgat", True), ("gcn", False)])
def test_attention_is_paid_to_the_parents_and_the_anchor_itself(
    propagation: str, heeds: bool
) -> None:
    ranker, queries = small_case(propagation=propagation)
    ranker.network.train()
    found = explain(ranker, queries, ranker.rank(queries, 2))
    assert ranker.network.training
    for evidence in found:
        heard = evidence.weighing.attention
        parent = evidence.first.parent.id
        expected = {parent, *ranker.anchors.taxonomy.parents(parent)} if heeds else set()
        assert {one.concept.id for one in heard} == expected
        if heeds:
            assert sum(one.share for one in heard) == pytest.approx(1, abs=1e-5)


def test_shared_words_have_no_case_no_plural_and_say_something() -> None:
    query = Concept(
        "", "Cherry-Tomatoes", ("the berry's fruits",), "of a small plant, used with tea"
    )
    assert shared(words_of(query), name_words(Concept("t", "tomatoe"))) == ("tomatoes",)
    other = Concept("b", "Berries", ("small cherry of the S", "with use"), "a plant and tea")
    assert shared(words_of(query), name_words(other)) == ("cherry", "berry", "small")
    hindi = Concept("", "हिन्दी चाय")
    assert shared(words_of(hindi), name_words(Concept("h", "चाय"))) == ("चाय",)


def test_evidence_is_ready_for_json() -> None:
    ranker, queries = small_case(use_mentions=True)
    said = Mentions.from_rows([[(i, MentionKind.FIRST_OTHER_SENSE) for i in range(40)]] * 11)
    queries = replace(queries, mentions=said)
    found = explain(ranker, queries, ranker.rank(queries, 2))
    told = [evidence.as_dict() for evidence in found]
    assert json.loads(json.dumps(told)) == told
    how = told[0]["suggestions"][0]["mentions"][0]["how"]
    assert how == "the first thing that the definition names, in another sense"


def test_a_trained_model_points_at_the_siblings_to_be(model: TaxoExpan) -> None:
    concepts = [Concept("", "soy milk"), Concept("", "banana bread")]
    queries = model._queries(concepts)
    milk, bread = explain(model.ranker, queries, model.ranker.rank(queries, 2))
    assert milk.first.path == ("food", "milk")
    assert bread.first.path == ("food", "bread")
    assert all(child.concept.label.endswith(" milk") for child in milk.first.children)
    said = in_words(milk)
    assert said.startswith(f"Like {milk.first.children[0].concept.label} (.")
    assert "Shares the word milk." in said


SOY, ALMOND = Concept("s", "soy milk"), Concept("a", "almond milk")
PLANT, DRINK, FOOD = Concept("p", "plant milk"), Concept("d", "beverage"), Concept("f", "food")
NOTHING = Parts(0.0, 0.0, 0.0)


def told(**changes: object) -> Evidence:
    """Oat milk under plant milk, with beverage behind; some of it changed."""
    first = Support(
        parent=PLANT,
        path=("food", "beverage", "plant milk"),
        score=0.6,
        cosine=0.7,
        head_cosine=1.0,
        words=("milk",),
        children=(Child(ALMOND, 0.82, ("milk",)), Child(SOY, 0.8, ("milk",))),
        child_count=2,
        mentions=(),
    )
    second = replace(first, parent=DRINK, path=("food", "beverage"), score=0.3)
    contest = Contest(DRINK, NOTHING, 0.7, "above", Removal(PLANT, SOY, True, -0.1))
    for part, values in changes.items():
        if part == "first":
            first = replace(first, **values)  # type: ignore[arg-type]
        elif part == "second":
            second = replace(second, **values)  # type: ignore[arg-type]
        elif part == "contest":
            contest = replace(contest, **values)  # type: ignore[arg-type]
    evidence = Evidence(
        query=Concept("", "oat milk"),
        known=True,
        support=(first, second),
        parts=NOTHING,
        weighing=Weighing(0.3, 0.3, 0.4, ()),
        contest=contest,
    )
    return replace(evidence, known=False) if "unknown" in changes else evidence


LIKE = "Like almond milk (.82) and soy milk (.80), which are already there. "
MILK = "Shares the word milk. "


def test_evidence_reads_as_a_person_would_say_it() -> None:
    assert in_words(told()) == (
        "Like almond milk (.82) and soy milk (.80), which are already there. Shares the word milk. "
        "Next best was beverage, one level up, which would have been preferred without soy milk."
    )


@pytest.mark.parametrize(
    ("first", "sentences"),
    [
        (
            {"children": (Child(ALMOND, 0.4, ()),), "words": ()},
            "Like almond milk (.40), which is already there. No word in common.",
        ),
        (
            {"children": (Child(ALMOND, -0.014, ()),), "cosine": 0.12, "words": ("ice", "cream")},
            "Nothing there is much like it; almond milk (-.01) comes nearest. "
            "Shares the words ice and cream.",
        ),
        (
            {"children": (Child(ALMOND, -0.004, ()),), "words": ("a", "b", "c", "d")},
            "Like plant milk itself (.70) more than like almond milk (.00), the nearest there. "
            "Shares the words a, b and c.",
        ),
        (
            {"children": (), "child_count": 0},
            "Like plant milk itself (.70), which has nothing under it yet. Shares the word milk.",
        ),
        (
            {"children": (), "child_count": 0, "cosine": 0.3},
            "There is nothing under plant milk yet, and the two are not much alike (.30). "
            "Shares the word milk.",
        ),
    ],
)
def test_likeness_and_words_in_every_case(first: dict[str, object], sentences: str) -> None:
    contest = {"decisive": None, "standing": "elsewhere"}
    assert in_words(told(first=first, contest=contest)) == f"{sentences} Next best was beverage."


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ((0.5, 0.45), "Next best, close behind, was beverage."),
        ((0.5, 0.3), "Next best was beverage."),
        ((0.5, 0.1), "Next best, far behind, was beverage."),
        ((0.05, 0.04), "Unsure: next best was beverage."),
        ((0.05, 0.01), "Next best, far behind, was beverage."),
    ],
)
def test_a_close_call_and_a_clear_one_are_told_apart(
    scores: tuple[float, float], said: str
) -> None:
    changes = {"first": {"score": scores[0]}, "second": {"score": scores[1]}}
    evidence = told(**changes, contest={"decisive": None, "standing": "elsewhere"})
    assert in_words(evidence) == f"{LIKE}{MILK}{said}"


@pytest.mark.parametrize(
    ("decisive", "said"),
    [
        (Removal(PLANT, SOY, True, 0.3), ", which would have come closer without soy milk."),
        (Removal(PLANT, SOY, True, 0.4), "."),
        (
            Removal(PLANT, Concept("r", "rice milk"), True, -0.1),
            ", which would have been preferred without rice milk under plant milk.",
        ),
        (
            Removal(DRINK, Concept("t", "tea"), True, -0.1),
            ", which would have been preferred without tea under it.",
        ),
        (
            Removal(PLANT, FOOD, False, -0.1),
            ", which would have been preferred if plant milk were not under food.",
        ),
        (
            Removal(DRINK, FOOD, False, -0.1),
            ", which would have been preferred if it were not under food.",
        ),
        (
            Removal(DRINK, PLANT, True, -0.1),
            ", which would have been preferred if plant milk were not under it.",
        ),
        (
            Removal(DRINK, PLANT, False, -0.1),
            ", which would have been preferred if it were not under plant milk.",
        ),
    ],
)
def test_what_decided_is_told_from_where_it_stands(decisive: Removal, said: str) -> None:
    evidence = told(contest={"decisive": decisive, "standing": "elsewhere"})
    assert in_words(evidence) == f"{LIKE}{MILK}Next best was beverage{said}"


def test_two_of_one_name_are_told_apart() -> None:
    second = {"parent": replace(DRINK, label="Plant milk"), "path": ("food", "dairy", "Plant milk")}
    contest = {"decisive": None, "standing": "beside"}
    assert in_words(told(second=second, contest=contest)).endswith(
        "Next best was another Plant milk (under dairy), beside it."
    )


@pytest.mark.parametrize(
    ("kind", "label", "said"),
    [
        (
            MentionKind.FIRST_IN_DEFINITION,
            "milk",
            "The first thing that its definition names is milk.",
        ),
        (MentionKind.NAME_ENDING, "Milks", "Its name ends in Milks."),
        (MentionKind.NAME_ENDING, "dairy drink", "Its name ends in another word for dairy drink."),
        (
            MentionKind.NAME_ENDING_OTHER_SENSE,
            "milk",
            "Its name ends in milk, though in a rarer sense.",
        ),
        (MentionKind.SAME_NAME, "milk", "It has the very name of milk."),
    ],
)
def test_a_mention_is_told_instead_of_the_words(kind: int, label: str, said: str) -> None:
    mentions = (Mention(kind, "", 2.0), Mention(MentionKind.FIRST_IN_DEFINITION, "", -1.0))
    first = {"mentions": mentions, "parent": replace(PLANT, label=label)}
    assert in_words(told(first=first)).startswith(f"{LIKE}{said} ")
    against = {"mentions": (Mention(MentionKind.FIRST_IN_DEFINITION, "", -1.0),)}
    assert in_words(told(first=against)).startswith(LIKE + MILK)


def test_of_an_unknown_query_nothing_is_claimed() -> None:
    assert in_words(told(unknown=True, first={"words": (), "children": ()})) == (
        "Nothing is known of its words, so that this is a guess. No word in common."
    )


def test_a_better_place_is_told_beside_the_present_one() -> None:
    contest = {"standing": "beside"}
    second = {"children": (Child(Concept("t", "green tea"), 0.21, ()),), "words": ()}
    assert moved_in_words(told(second=second, contest=contest)) == (
        "Like almond milk (.82) and soy milk (.80), which are already there. Shares the word milk. "
        "Now it is under beverage (beside it), where green tea (.21) comes nearest. "
        "The present place would have been preferred without soy milk."
    )


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            {"children": (Child(SOY, 0.3, ("milk",)),), "words": ("oat",)},
            ", where soy milk (.30) comes nearest; the shared words are oat and milk.",
        ),
        (
            {"children": (), "child_count": 4, "words": ("oat",), "cosine": 0.5},
            ", whose other children were hidden too; the two are alike (.50); "
            "the shared word is oat.",
        ),
    ],
)
def test_what_is_like_the_concept_where_it_is_now_is_told(
    second: dict[str, object], said: str
) -> None:
    evidence = told(second=second, contest={"decisive": None, "standing": "elsewhere"})
    assert moved_in_words(evidence) == f"{LIKE}{MILK}Now it is under beverage{said}"


def test_a_concept_may_be_alone_where_it_is() -> None:
    second = {"children": (), "child_count": 0, "words": (), "cosine": 0.1}
    contest = {"decisive": None, "standing": "above"}
    assert moved_in_words(told(second=second, contest=contest)) == (
        f"{LIKE}{MILK}Now it is alone under beverage (one level up); the two are not much alike "
        "(.10)."
    )


@pytest.mark.parametrize(
    ("cosine", "said"),
    [
        (0.7, "Like plant milk itself (.70); what is under it was hidden. "),
        (
            0.3,
            "Hidden with it was what is under plant milk, and the two are not much alike (.30). ",
        ),
    ],
)
def test_children_that_were_hidden_too_are_not_said_to_be_missing(cosine: float, said: str) -> None:
    first = {"children": (), "child_count": 2, "cosine": cosine}
    assert moved_in_words(told(first=first)).startswith(said)


@pytest.mark.parametrize(
    ("score", "margin", "said"),
    [
        (0.1, 0.7, ""),
        (0.55, 0.7, " The two places are about as likely."),
        (0.9, -0.4, " The present place is still preferred."),
    ],
)
def test_it_is_told_where_the_better_place_is_hardly_better(
    score: float, margin: float, said: str
) -> None:
    contest = {"decisive": Removal(PLANT, SOY, True, 0.4), "margin": margin}
    second = {"score": score, "words": ()}
    evidence = told(second=second, contest=contest)
    assert moved_in_words(evidence).partition("milk (.82) comes nearest; ")[2] == (
        f"the shared word is milk.{said}"
    )


def test_of_an_unknown_concept_no_move_is_argued() -> None:
    assert moved_in_words(told(unknown=True, first={"words": (), "children": ()})) == (
        "Nothing is known of its words, so that this is a guess. No word in common."
    )


@given(seed=st.integers(0, 10_000), most=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_evidence_is_read_as_it_was_written(seed: int, most: int) -> None:
    taxonomy = random_taxonomy(seed, count=5 + seed % 12)
    both = random_vectors(seed, len(taxonomy))
    network = random_network(seed, propagation="pgat")
    anchors = Anchors(taxonomy, ConceptVectors.of(both), 3)
    ranker = Ranker(network, anchors)
    asked = [Concept(f"q{i}", f"new {i}") for i in range(QUERIES)]
    queries = Queries(random_vectors(seed + 1, QUERIES), concepts=asked)
    for evidence in explain(ranker, queries, ranker.rank(queries, most)):
        said = tuple(Mention(kind, kind.description, 0.25) for kind in MentionKind)
        first = replace(evidence.first, mentions=said)
        evidence = replace(evidence, support=(first, *evidence.support[1:]))
        written = json.loads(json.dumps(evidence.as_dict()))
        read = read_evidence(written)
        assert read.as_dict() == written
        assert read.first.mentions == said
        assert [each.parent for each in read.support] == [each.parent for each in evidence.support]
