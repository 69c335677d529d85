"""The registry of methods, and methods of one's own next to the package's."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from taxoexpan import (
    Concept,
    Holdout,
    Method,
    Problem,
    TaxoExpan,
    Taxonomy,
    TrainedMethod,
    evaluate_methods,
    hold_out,
    make_method,
    read_taxonomy,
)
from taxoexpan.config import PRESETS
from taxoexpan.errors import ConfigurationError, ModelError, TaxoExpanError
from taxoexpan.evaluation.methods import METHODS, as_method, default_methods, has_setting
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.training.log import TrainingLog

NEW = ["oat milk", "rye bread", "green tea"]


@pytest.fixture(scope="module")
def holdout(pantry: Path) -> Holdout:
    return hold_out(read_taxonomy(pantry), NEW)


def last_word(taxonomy: Taxonomy, concepts: list[Concept], bonus: float = 1.0) -> list[list[float]]:
    return [
        [bonus * concept.label.endswith(label) for concept in concepts] for label in taxonomy.labels
    ]


class LinearMap(TrainedMethod):
    """A linear map from the vectors of children to those of their parents."""

    def __init__(self, ridge: float = 1.0) -> None:
        self.ridge = ridge

    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> None:
        self.learned_from = (problem, seed, log)
        parents, children = map(torch.from_numpy, problem.taxonomy.relation_indices)
        vectors = problem.vectors[0]
        gram = vectors[children].T @ vectors[children]
        gram += self.ridge * torch.eye(len(gram))
        self.map = torch.linalg.solve(gram, vectors[children].T @ vectors[parents])
        self.set_anchors(problem.taxonomy, problem.vectors)

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        self.size = len(taxonomy)
        self.anchors = vectors[0]

    def score(self, queries: Queries) -> Tensor:
        return self.anchors @ (queries.vectors[0] @ self.map).T


def test_every_registered_method_can_be_made_and_has_a_description() -> None:
    for name, registered in METHODS.items():
        assert registered.description
        method = make_method(name)
        assert isinstance(method, TaxoExpan if registered.is_model else Method), name
    assert {each.settings["preset"] for each in METHODS.values() if each.is_model} == set(PRESETS)
    assert not any(METHODS[name].needs_clone for name in default_methods())


def test_a_function_of_ones_own_is_ranked_next_to_the_packages(holdout: Holdout) -> None:
    methods = {"mine": last_word, "popularity": make_method("popularity")}
    results = evaluate_methods(holdout, methods, features="static")
    assert results["mine"].metrics.hit_at_1 == 1
    assert [ranks.tolist() for ranks in results["mine"].ranks] == [[1.0]] * 3
    assert results["popularity"].metrics.mr > 1


def test_a_trained_method_learns_from_the_remaining_taxonomy(holdout: Holdout) -> None:
    method = LinearMap()
    (result,) = evaluate_methods(holdout, {"map": method}, features="static", seed=4).values()
    problem, seed, _ = method.learned_from
    held_out = {concept.id for concept in problem.validation.concepts}
    assert held_out
    assert not held_out & set(problem.taxonomy.ids)
    assert set(problem.taxonomy.ids) | held_out == set(holdout.taxonomy.ids)
    assert not set(NEW) & set(holdout.taxonomy.ids)
    labels = problem.taxonomy.labels
    for concept, parents in zip(
        problem.validation.concepts, problem.validation.parents, strict=True
    ):
        assert [labels[parent] for parent in parents] == list(holdout.taxonomy.parents(concept.id))
    # Afterwards, all concepts of the remaining taxonomy are anchors.
    assert (seed, method.size) == (4, len(holdout.taxonomy))
    assert result.metrics.mr < len(holdout.taxonomy) / 4


@pytest.mark.parametrize("name", ["network", "parent-mlp", "dist-xgboost"])
def test_the_trained_baselines_run_too(name: str, holdout: Holdout) -> None:
    if name == "dist-xgboost" and not find_spec("xgboost"):
        pytest.skip("xgboost is not installed")
    settings: dict[str, Any] = {"rounds": 3} if name == "dist-xgboost" else {"epochs": 2}
    methods = {name: make_method(name, **settings)}
    (result,) = evaluate_methods(holdout, methods, features="static").values()
    assert len(result.ranks) == 3
    assert all(np.isfinite(ranks).all() for ranks in result.ranks)


def test_methods_of_a_file_and_of_a_module_are_found(holdout: Holdout, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import numpy as np\n"
        "from taxoexpan import Method\n"
        "def equal(taxonomy, concepts, value=0):\n"
        "    return np.full((len(taxonomy), len(concepts)), value)\n"
        "@dataclass\n"
        "class Sorted(Method):\n"
        "    sign: int = 1\n"
        "    def set_anchors(self, taxonomy, vectors):\n"
        "        self.size = len(taxonomy)\n"
        "    def score(self, queries):\n"
        "        column = self.sign * np.arange(self.size)\n"
        "        return np.repeat(column[:, None], len(queries), axis=1)\n"
    )
    methods = {
        name: make_method(f"{file}:{name}", **settings)
        for name, settings in (("equal", {"value": 3}), ("Sorted", {"sign": -1}))
    }
    assert methods["equal"].settings == {"value": 3}
    results = evaluate_methods(holdout, methods, features="static")
    middle = (len(holdout.taxonomy) + 1) / 2
    assert results["equal"].metrics.mr == middle
    places = [float(parents[0]) + 1 for parents in holdout.parents]
    assert [ranks[0] for ranks in results["Sorted"].ranks] == places
    path = "taxoexpan.evaluation.rules:Popularity"
    assert type(make_method(path)) is type(make_method("popularity"))


@pytest.mark.parametrize(
    ("name", "key_word"),
    [
        ("magic", "choose from popularity"),
        ("nowhere.py:Magic", "does not exist"),
        ("taxoexpan.nowhere:Magic", "no module 'taxoexpan.nowhere'"),
        ("taxoexpan.evaluation.rules:Magic", "has no 'Magic'"),
        ("taxoexpan.thresholds:LIKELY", "is not a method"),
        ("taxoexpan:Taxonomy.x", "has no 'Taxonomy.x'"),
    ],
)
def test_what_is_no_method_is_refused(name: str, key_word: str) -> None:
    with pytest.raises(ConfigurationError, match=key_word):
        make_method(name)


def test_scores_of_another_shape_are_refused(holdout: Holdout) -> None:
    def transposed(taxonomy: Taxonomy, concepts: list[Concept]) -> Any:
        return np.transpose(last_word(taxonomy, concepts))

    with pytest.raises(ModelError, match="one row per anchor and one column per query"):
        evaluate_methods(holdout, {"mine": transposed}, features="static")


def returning(value: Any) -> Any:
    """Make a rule that returns its scores with one of them changed, or something else."""

    def changed(taxonomy: Taxonomy, concepts: list[Concept]) -> Any:
        return value(np.array(last_word(taxonomy, concepts)))

    return changed


def with_nan(scores: Any) -> Any:
    scores[3, 1] = np.nan
    return scores


@pytest.mark.parametrize(
    ("value", "key_word"),
    [
        (with_nan, "changed returned NaN for 1 of .* row 3 and the query 'rye bread'"),
        (lambda scores: scores * np.nan, "row 0 and the query 'oat milk'"),
        (lambda scores: scores * 1j, "complex"),
        (lambda scores: torch.from_numpy(scores) * 1j, "complex"),
        (lambda _: None, "no real numbers"),
        (lambda scores: scores.astype(str), "no real numbers"),
        (lambda _: [[1], [1, 2]], "no table"),
        (lambda scores: scores.T, "changed returned scores of the shape"),
    ],
)
def test_scores_that_are_no_numbers_are_refused(
    value: Any, key_word: str, holdout: Holdout
) -> None:
    with pytest.raises(ModelError, match=key_word):
        evaluate_methods(holdout, {"mine": returning(value)}, features="static")


def test_infinite_scores_and_truth_values_are_allowed(holdout: Holdout) -> None:
    methods = {
        "infinite": returning(lambda scores: np.where(scores > 0, np.inf, -np.inf)),
        "truth": returning(lambda scores: torch.from_numpy(scores > 0)),
    }
    results = evaluate_methods(holdout, methods, features="static")
    assert [result.metrics.hit_at_1 for result in results.values()] == [1, 1]


def needy(taxonomy: Taxonomy, concepts: list[Concept], scale: float) -> Any:
    return scale * np.array(last_word(taxonomy, concepts))


class Unfinished(TrainedMethod):
    """A method without `fit`."""

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None: ...

    def score(self, queries: Queries) -> Tensor:
        return queries.vectors


@pytest.mark.parametrize(
    ("given", "settings", "key_word"),
    [
        (last_word, {"ignore": 1}, "last_word: .*'ignore'; its settings are bonus"),
        (last_word, {"taxonomy": 1}, "'taxonomy'"),
        (last_word, {"bonus": "much"}, "give a number, such as 1.0"),
        (needy, {}, "'scale'"),
        (len, {}, "len"),
        (LinearMap, {"rigde": 1}, "LinearMap: .*'rigde'; its settings are ridge"),
        (LinearMap(), {"ridge": 1}, "not a method"),
        (Unfinished, {}, "Unfinished does not define fit"),
        (str, {}, "not a method"),
    ],
)
def test_wrong_settings_and_unfinished_methods_are_refused(
    given: Any, settings: dict[str, Any], key_word: str
) -> None:
    with pytest.raises(ConfigurationError, match=key_word):
        as_method(given, **settings)


def test_registered_rules_refuse_settings() -> None:
    with pytest.raises(ConfigurationError, match="'dimm'; it has no settings"):
        make_method("closest-parent", dimm=1)


def test_who_takes_a_setting() -> None:
    here = f"{__name__}:"
    assert has_setting(f"{here}last_word", "bonus")
    assert not has_setting(f"{here}last_word", "taxonomy")
    assert has_setting(f"{here}LinearMap", "ridge")
    assert has_setting("taxoexpan-fast", "epochs")
    assert not has_setting("taxoexpan-fast", "preset")
    assert not has_setting("popularity", "epochs")


@pytest.mark.parametrize(
    ("source", "place", "key_word"),
    [
        ("def mine(:\n", "line 1", "not Python"),
        ("import nothing_of_this_name\n", "", "nothing_of_this_name"),
    ],
)
def test_a_file_that_is_no_program_is_refused(
    source: str, place: str, key_word: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source)
    with pytest.raises(TaxoExpanError, match=key_word) as caught:
        make_method(f"{file}:mine")
    assert "mine.py" in str(caught.value)
    assert caught.value.place.endswith(place)
    with pytest.raises(ConfigurationError, match="not a Python file"):
        make_method(f"{tmp_path}/mine.txt:mine")


def test_an_error_of_ones_own_code_names_the_method(holdout: Holdout) -> None:
    def failing(*_: object) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        evaluate_methods(holdout, {"my rule": failing}, features="static")
    assert "my rule" in caught.value.__notes__[0]


def test_methods_need_names(holdout: Holdout) -> None:
    methods: Any = [last_word]
    with pytest.raises(ConfigurationError, match="give a dictionary"):
        evaluate_methods(holdout, methods)


def test_the_result_of_fit_is_a_history_or_nothing(holdout: Holdout) -> None:
    class Losses(LinearMap):
        def fit(self, problem: Problem, seed: int, log: TrainingLog) -> Any:
            super().fit(problem, seed, log)
            return {"loss": 1.0}

    with pytest.raises(ModelError, match="Losses returned dict from fit"):
        evaluate_methods(holdout, {"map": Losses()}, features="static")


def test_deprecated_concepts_are_neither_anchors_nor_queries(pantry: Path) -> None:
    whole = read_taxonomy(pantry)
    concepts = [
        replace(each, deprecated=each.label in ("rye bread", "water"))
        for each in (*whole.concepts, Concept("water", "water"))
    ]
    pairs = [(whole.ids[p], whole.ids[c]) for p, c in zip(*whole.relation_indices, strict=True)]
    taxonomy = Taxonomy(concepts, pairs)
    holdout = hold_out(taxonomy, NEW)
    assert len(holdout.taxonomy) == len(holdout.active.taxonomy) + 1
    seen: list[Taxonomy] = []

    def rule(anchors: Taxonomy, queries: list[Concept]) -> Any:
        seen.append(anchors)
        return last_word(anchors, queries)

    (result,) = evaluate_methods(holdout, {"mine": rule}, features="static").values()
    assert "water" not in seen[0]
    assert len(seen[0]) == len(holdout.taxonomy) - 1
    assert [ranks.tolist() for ranks in result.ranks] == [[1.0]] * 2


def test_a_function_needs_texts() -> None:
    method = as_method(last_word)
    assert isinstance(method, Method)
    method.set_anchors(Taxonomy([Concept("a", "a")], []), torch.zeros(2, 1, 3))
    with pytest.raises(ModelError, match="task file"):
        method.score(Queries(torch.zeros(2, 4, 3)))
