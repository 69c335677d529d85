from __future__ import annotations

from collections import Counter

import pytest

from reproduction.experiments import (
    FIGURES,
    MEASURED,
    METRICS,
    SEMEVAL,
    TABLES,
    Experiment,
    all_experiments,
    find_experiments,
)
from taxoexpan.errors import ConfigurationError


@pytest.mark.parametrize("experiment", all_experiments(), ids=lambda experiment: experiment.name)
def test_every_experiment_makes_a_method(experiment: Experiment) -> None:
    if experiment.method:
        experiment.make_method()
    else:
        assert experiment.published or experiment.measurement
    assert 0 <= experiment.noise < 1
    assert 0 < experiment.leaf_fraction <= 1
    assert experiment.title


def test_no_experiment_depends_on_how_many_definitions_there_are() -> None:
    for experiment in all_experiments():
        if experiment.method and "preset" in experiment.settings:
            settings = experiment.make_method().settings
            assert settings["use_mentions"] is experiment.settings.get("use_mentions", False)


def test_no_experiment_depends_on_which_encoders_are_installed() -> None:
    for experiment in all_experiments():
        if experiment.method and "preset" in experiment.settings:
            settings = experiment.make_method().settings
            assert settings["features"] == "static"


def test_no_two_experiments_of_a_table_are_equal() -> None:
    experiments = all_experiments()
    assert len({experiment.name for experiment in experiments}) == len(experiments)
    assert len({(experiment.group, experiment.title) for experiment in experiments}) == len(
        experiments
    )
    assert (
        max(Counter((experiment.group, experiment.order) for experiment in experiments).values())
        == 1
    )


def test_tables_have_their_published_figures() -> None:
    """Table 2 except for our own rows, and Table 3."""
    own = {"main/popularity", "main/taxoexpan-best", "main/taxoexpan-best-leaves"}
    published = [
        experiment
        for experiment in find_experiments(["main", "ablation"])
        if experiment.name not in own
    ]
    assert len(published) == 6 + 12
    for experiment in published:
        assert set(METRICS) <= set(experiment.published), experiment.name
        assert 0 < experiment.published["hit_at_1"] < experiment.published["hit_at_3"] < 1
        assert 0 < experiment.published["mrr"] < 1 < experiment.published["mr"]
    assert not any(experiment.published for experiment in find_experiments(sorted(own)))


def test_every_experiment_is_in_a_table_and_every_figure_has_experiments() -> None:
    groups = {experiment.group for experiment in all_experiments()}
    assert groups == {*TABLES, SEMEVAL, *MEASURED}
    assert all(find_experiments([pattern]) for pattern in FIGURES.values())


def test_the_ablation_has_the_papers_twelve_rows_in_order() -> None:
    rows = find_experiments(["ablation"])
    assert [experiment.order for experiment in rows] == list(range(1, 13))
    parts = {
        (
            experiment.settings["propagation"],
            experiment.settings["readout"],
            experiment.settings["matching"][:3],
        )
        for experiment in rows
    }
    assert len(parts) == 12
    assert rows[10].published.items() <= find_experiments(["main/taxoexpan"])[0].published.items()


def test_experiments_are_found_by_name_group_and_pattern() -> None:
    assert [experiment.name for experiment in find_experiments(["main/taxoexpan"])] == [
        "main/taxoexpan"
    ]
    assert all(experiment.group == "loss" for experiment in find_experiments(["loss"]))
    assert len(find_experiments(["ablation/*-mlp"])) == 8
    both = find_experiments(["main/taxoexpan", "main"])
    assert len(both) == len(find_experiments(["main"]))
    assert both[0].name == "main/taxoexpan"


def test_an_unknown_experiment_is_refused_with_the_known_groups() -> None:
    with pytest.raises(
        ConfigurationError, match=r"'tabel'; the groups are ablation, calibration, .*list"
    ):
        find_experiments(["main", "tabel"])
