from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from reproduction.experiments import (
    FIGURES,
    MEASURED,
    METRICS,
    SEMEVAL,
    TABLES,
    Experiment,
    all_experiments,
    choose_experiments,
    find_experiments,
    read_experiment,
)
from taxoexpan.config import parse_change
from taxoexpan.errors import ConfigurationError, FormatError


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
    published = [(each.group, each.order) for each in experiments if each.published]
    assert max(Counter(published).values()) == 1


def test_tables_have_their_published_figures() -> None:
    """Table 2 except for rows that the paper does not have, and Table 3."""
    published = [e for e in find_experiments(["main", "ablation"]) if e.published]
    assert len(published) == 6 + 12
    for experiment in published:
        assert set(METRICS) <= set(experiment.published), experiment.name
        assert 0 < experiment.published["hit_at_1"] < experiment.published["hit_at_3"] < 1
        assert 0 < experiment.published["mrr"] < 1 < experiment.published["mr"]


def test_every_table_and_every_figure_has_experiments() -> None:
    groups = {experiment.group for experiment in all_experiments()}
    assert {*TABLES, SEMEVAL, *MEASURED} <= groups
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


def test_an_experiment_in_a_file_of_ones_own_needs_only_a_method(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('method = "popularity"')
    assert read_experiment(file) == Experiment("own/mine", 0, "mine", "popularity")
    file.write_text('method = "rules.py:Mine"')
    assert read_experiment(file).method == f"{tmp_path / 'rules.py'}:Mine"


@pytest.mark.parametrize(
    ("content", "key_word"),
    [
        ("methods = 3", "no 'methods'; choose from order"),
        ("method = 3", "method: Input should be a valid string"),
        ("method", "not a TOML file"),
        ("name = 'other/name'", "no 'name'"),
    ],
)
def test_wrong_files_are_refused(content: str, key_word: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content)
    with pytest.raises(FormatError, match=key_word):
        read_experiment(file)


def test_files_need_different_names(tmp_path: Path) -> None:
    files = [tmp_path / "one" / "mine.toml", tmp_path / "two" / "mine.toml"]
    for file in files:
        file.parent.mkdir()
        file.write_text('method = "popularity"')
    with pytest.raises(ConfigurationError, match="two files give the experiment own/mine"):
        choose_experiments([], files)


def test_settings_are_changed_where_there_are_some() -> None:
    names = ["main/taxoexpan", "main/dist-xgboost", "main/popularity", "small/fast"]
    changed = choose_experiments(names, (), {"epochs": 2, "rounds": 9})
    assert [experiment.settings for experiment in changed] == [
        find_experiments(names[:1])[0].settings | {"epochs": 2},
        {"rounds": 9},
        {},
        find_experiments(names[3:])[0].settings | {"epochs": 2},
    ]
    assert [experiment.title for experiment in changed[1:3]] == [
        "dist-XGBoost, rounds=9",
        "popularity",
    ]
    with pytest.raises(ConfigurationError, match="'depht'"):
        choose_experiments(names, (), {"depht": 9})


@pytest.mark.parametrize(
    ("text", "value"),
    [("a=3", 3), ("a = 0.5", 0.5), ("a=true", True), ("a=gat", "gat"), ("a=[1, 2]", [1, 2])],
)
def test_values_are_read_as_in_toml(text: str, value: object) -> None:
    assert parse_change(text) == ("a", value)


def test_whole_models_are_left_to_evaluate() -> None:
    with pytest.raises(ConfigurationError, match="taxoexpan evaluate"):
        Experiment("own/model", method="taxoexpan").make_method()


def test_an_experiment_of_ones_own_needs_a_method(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "x"')
    with pytest.raises(FormatError, match="no method; add a line") as caught:
        read_experiment(file)
    assert caught.value.place.endswith("mine.toml")
