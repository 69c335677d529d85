from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproduction.experiments import Experiment, all_experiments
from reproduction.measurements.placements import (
    Placement,
    mean_interval,
    new_concepts,
    place_by_model,
    placements_of,
    quoted_experiments,
    scores_of,
    wilson_interval,
)
from reproduction.measurements.runner import run_measurements, tables_text
from reproduction.measurements.trial import Data, Trial
from taxoexpan import Taxonomy
from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept

SMALL = {"preset": "fast", "features": "static", "validation_fraction": 0.2}
RULE = Experiment("own/rule", title="rule", method="closest-parent", measurement="placements")
MODEL = Experiment("own/model", title="model", measurement="placements", settings=SMALL)
KINDS = ("bread", "milk", "tea", "soup", "cake", "juice")
SORTS = ("oat", "rice", "apple", "green", "black", "white", "sweet", "sour", "hot", "cold")


def releases(new: dict[str, tuple[str, ...]]) -> Data:
    """Return a pantry, and its release with these new foods below their parents."""
    old = [("food", kind) for kind in KINDS]
    old += [(kind, f"{sort} {kind}") for kind in KINDS for sort in SORTS]
    added = [(parent, name) for name, parents in new.items() for parent in parents]
    return Data("pantry", taxonomy(old), release=taxonomy([*old, *added]))


def taxonomy(relations: list[tuple[str, str]]) -> Taxonomy:
    names = dict.fromkeys(name for relation in relations for name in relation)
    return Taxonomy([Concept(name, name) for name in names], relations)


def trial(experiment: Experiment, data: Data) -> Trial:
    return Trial(experiment, data, 0, "static", "cpu")


@pytest.mark.parametrize("experiment", [RULE, MODEL], ids=lambda experiment: experiment.title)
def test_new_concepts_are_placed_below_old_ones(experiment: Experiment, tmp_path: Path) -> None:
    data = releases({"plum cake": ("cake",), "plum juice": ("juice", "food")})
    [run] = run_measurements([trial(experiment, data)], tmp_path)
    placements = placements_of(run)
    assert run.figures["anchors"] == len(data.taxonomy)
    assert [each.concept for each in placements] == ["plum cake", "plum juice"]
    assert sorted(placements[1].parents) == ["food", "juice"]
    for each in placements:
        assert each.placed in data.taxonomy
        assert (each.placed in each.parents) == (each.rank == 1) == (each.similarity == 1)
    text = tables_text([experiment], tmp_path)
    assert "**pantry**, vectors `static`, 2 new concepts to place below 67" in text
    assert f"| {experiment.title} | " in text


def test_a_placement_does_not_depend_on_the_other_new_concepts() -> None:
    few, many = {"plum cake": ("cake",)}, {"plum cake": ("cake",), "plum cake tea": ("cake",)}
    places = []
    for new in (few, many):
        made = trial(MODEL, releases(new))
        placed, ranks = place_by_model(made, new_concepts(made.data))
        places.append((placed[0], ranks[0].tolist()))
    assert places[0] == places[1]


def test_names_that_resemble_known_ones_are_placed_below_a_parent() -> None:
    made = trial(MODEL, releases({f"{sort} soups": ("soup",) for sort in SORTS}))
    placed, ranks = place_by_model(made, new_concepts(made.data))
    soup = made.data.taxonomy.index("soup")
    assert soup in placed
    assert [place == soup for place in placed] == [own.tolist() == [1] for own in ranks]


def test_a_trained_method_is_refused(tmp_path: Path) -> None:
    network = Experiment("own/network", method="network", measurement="placements")
    with pytest.raises(ConfigurationError, match="network is trained"):
        [*_] = run_measurements([trial(network, releases({"plum cake": ("cake",)}))], tmp_path)


def test_the_figures_of_a_placement() -> None:
    placements = [
        Placement("a", ("x",), "x", 1.0, 1.0),
        Placement("b", ("x", "y"), "z", 4.0, 0.5),
    ]
    scores = {name: values.tolist() for name, values in scores_of(placements).items()}
    assert scores == {"accuracy": [1, 0], "mrr": [1, 0.25], "wu_palmer": [1, 0.5]}


@pytest.mark.parametrize(
    ("fraction", "count", "low", "high"),
    [(0.5, 52, 0.369, 0.631), (0.675, 40, 0.520, 0.799), (0, 10, 0, 0.278), (1, 10, 0.722, 1)],
)
def test_the_interval_of_a_fraction(fraction: float, count: int, low: float, high: float) -> None:
    assert wilson_interval(fraction, count) == pytest.approx((low, high), abs=5e-4)


def test_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).random(50)
    low, high = mean_interval(values)
    margin = 1.96 * values.std() / np.sqrt(50)
    assert (low, high) == pytest.approx((values.mean() - margin, values.mean() + margin), abs=0.01)
    assert mean_interval(np.full(9, 0.5)) == (0.5, 0.5)
    assert (low, high) == mean_interval(values)


def test_quoted_results_have_a_source() -> None:
    quoted = quoted_experiments("task13")
    assert quoted
    assert all(each.source and each.published for each in quoted)
    assert {each.name for each in all_experiments() if each.source} == {e.name for e in quoted}
