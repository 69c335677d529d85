"""The methods that `evaluate` and the experiments compare: one registry, and their interface.

This module imports neither numpy nor torch, so that the command line starts fast.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, Signature, isabstract, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.errors import ConfigurationError, FormatError, ModelError, TaxoExpanError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor

    from taxoexpan.features.mentions import Mentions
    from taxoexpan.model import TaxoExpan
    from taxoexpan.network.concept_vectors import LabeledQueries, Queries
    from taxoexpan.taxonomy import Taxonomy
    from taxoexpan.training.log import TrainingLog
    from taxoexpan.training.record import History

ScoringFunction = Callable[..., "ArrayLike"]
"""A rule as a function of a taxonomy and of new concepts: scores of all anchors [N, Q]."""

MODEL = "taxoexpan.model:TaxoExpan"


@dataclass(frozen=True)
class RegisteredMethod:
    """Where a method is (`module:name`), one line about it, and its settings."""

    path: str
    description: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_default: bool = False
    """Whether `evaluate` compares it if no methods are chosen."""

    @property
    def is_model(self) -> bool:
        """Whether it is a whole model, as `train` fits it."""
        return self.path == MODEL

    @property
    def needs_clone(self) -> bool:
        """Whether it is a part of the reproduction, which is not installed."""
        return self.path.startswith("reproduction.")


def _model(preset: str, is_default: bool = False) -> RegisteredMethod:
    description = f"a whole model of the preset {preset}"
    return RegisteredMethod(MODEL, description, {"preset": preset}, is_default)


METHODS: dict[str, RegisteredMethod] = {
    "popularity": RegisteredMethod(
        "taxoexpan.evaluation.rules:Popularity", "most children", is_default=True
    ),
    "closest-parent": RegisteredMethod(
        "taxoexpan.evaluation.rules:ClosestParent", "nearest vector", is_default=True
    ),
    "closest-neighbor": RegisteredMethod(
        "taxoexpan.evaluation.rules:ClosestNeighbor",
        "nearest vector and nearest children",
        is_default=True,
    ),
    "first-word": RegisteredMethod(
        "reproduction.baselines.first_word:FirstWord",
        "first sense of the first noun in the definition (FWFS)",
    ),
    "dist-xgboost": RegisteredMethod(
        "reproduction.baselines.dist_xgboost:DistXGBoost", "boosted trees over distances"
    ),
    "parent-mlp": RegisteredMethod(
        "reproduction.baselines.networks:ParentMLP", "an MLP on the vectors of anchor and query"
    ),
    "deepset-mlp": RegisteredMethod(
        "reproduction.baselines.networks:DeepSetMLP", "the same MLP with the anchor's children"
    ),
    "network": RegisteredMethod(
        "reproduction.baselines.networks:TaxoExpanMethod",
        "the paper's network alone, without fusion",
    ),
    "taxoexpan-authors": _model("authors"),
    "taxoexpan-paper": _model("paper", is_default=True),
    "taxoexpan-fast": _model("fast"),
    "taxoexpan-thorough": _model("thorough"),
    "taxoexpan": _model("best", is_default=True),
}
"""All methods by name, from the simplest to the most complex."""


@dataclass(frozen=True)
class Problem:
    """The training data of a method: a taxonomy, vectors [2, N, D], and validation queries.

    Row 0 of the vectors is for the names and definition of each concept, row 1 for its head words.

    Examples:
        >>> from taxoexpan import Problem, TrainedMethod
        >>> class Nothing(TrainedMethod):
        ...     def fit(self, problem: Problem, seed, log):
        ...         two, concepts, dimension = problem.vectors.shape
        ...         self.set_anchors(problem.taxonomy, problem.vectors)
    """

    taxonomy: Taxonomy
    vectors: Tensor
    validation: LabeledQueries
    mentions: Mentions | None = None


class Method(ABC):
    """A method that scores every concept of a taxonomy (the anchors) as a parent of a query.

    Examples:
        This rule ranks anchors by the number of words that they share with the new concept.

        >>> from taxoexpan import Method, evaluate_methods, hold_out_leaves, read_taxonomy
        >>> class SharedWords(Method):
        ...     def set_anchors(self, taxonomy, vectors):
        ...         self.words = [set(label.split()) for label in taxonomy.labels]
        ...
        ...     def score(self, queries):
        ...         new = [set(concept.label.split()) for concept in queries.concepts]
        ...         return [[len(own & words) for words in new] for own in self.words]
        >>> held_out = hold_out_leaves(read_taxonomy("examples/instruments.ttl"), fraction=0.2)
        >>> results = evaluate_methods(held_out, {"words": SharedWords()}, features="static")
        >>> results["words"].metrics.queries
        13
    """

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that affect the scores."""
        return {}

    @abstractmethod
    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Use the concepts of a taxonomy as anchors, without training; vectors [2, N, D]."""

    @abstractmethod
    def score(self, queries: Queries) -> Tensor:
        """Score all anchors for queries, where higher is better: [N, Q]."""


class TrainedMethod(Method):
    """A method that learns from a problem; runs with other seeds may have other results.

    Examples:
        >>> from taxoexpan import TrainedMethod, evaluate_methods, hold_out_leaves, read_taxonomy
        >>> class MeanStep(TrainedMethod):
        ...     def fit(self, problem, seed, log):
        ...         parents, children = problem.taxonomy.relation_indices
        ...         vectors = problem.vectors[0]
        ...         self.step = (vectors[parents] - vectors[children]).mean(0)
        ...         self.set_anchors(problem.taxonomy, problem.vectors)
        ...
        ...     def set_anchors(self, taxonomy, vectors):
        ...         self.anchors = vectors[0]
        ...
        ...     def score(self, queries):
        ...         return self.anchors @ (queries.vectors[0] + self.step).T
        >>> held_out = hold_out_leaves(read_taxonomy("examples/instruments.ttl"), fraction=0.2)
        >>> results = evaluate_methods(held_out, {"step": MeanStep()}, features="static")
        >>> results["step"].metrics.queries
        13
    """

    @abstractmethod
    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History | None:
        """Train on a problem, whose concepts become the anchors; return the epochs, if any."""


class FunctionMethod(Method):
    """A rule that is one function, with its settings as further arguments."""

    def __init__(self, function: ScoringFunction, **settings: Any) -> None:
        self.function = function
        self._settings = settings

    @property
    def settings(self) -> dict[str, Any]:
        """The further arguments."""
        return self._settings

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Store the taxonomy."""
        self.taxonomy = taxonomy
        self.device = vectors.device

    def score(self, queries: Queries) -> Tensor:
        """Return the scores of the function for every pair: [N, Q]."""
        if len(queries) and not queries.concepts:
            message = "the queries have vectors, but no texts to give to the function"
            raise ModelError(message, fix="read them from a taxonomy instead of a task file")
        scores = self.function(self.taxonomy, queries.concepts, **self._settings)
        return _as_tensor(scores, method_name(self)).double().to(self.device)


def fit_method(method: Method, problem: Problem, seed: int, log: TrainingLog) -> History | None:
    """Train a method; a rule without training only uses the problem's concepts as anchors."""
    from taxoexpan.training.record import History

    if not isinstance(method, TrainedMethod):
        method.set_anchors(problem.taxonomy, problem.vectors)
        return None
    history = method.fit(problem, seed, log)
    if history is not None and not isinstance(history, History):
        message = f"{method_name(method)} returned {type(history).__name__} from fit"
        raise ModelError(message, fix="return a History of its epochs, or nothing")
    return history


def score_anchors(method: Method, queries: Queries, anchors: int) -> Tensor:
    """Return the scores of all anchors [N, Q]; refuse another shape, and what is no number."""
    name = method_name(method)
    scores = _as_tensor(method.score(queries), name)
    if tuple(scores.shape) != (anchors, len(queries)):
        message = f"{name} returned scores of the shape {tuple(scores.shape)}"
        fix = f"return one row per anchor and one column per query: {(anchors, len(queries))}"
        raise ModelError(message, fix=fix)
    is_nan = scores.isnan()
    if is_nan.any():
        row, column = is_nan.nonzero()[0].tolist()
        query = repr(queries.concepts[column].label) if queries.concepts else f"column {column}"
        message = f"{name} returned NaN for {int(is_nan.sum()):,} of {scores.numel():,} pairs"
        message += f", first for the anchor in row {row} and the query {query}"
        raise ModelError(message, fix="return numbers; they may be infinite")
    return scores


def method_name(method: Method) -> str:
    """Return the name of a method's class or function."""
    named = method.function if isinstance(method, FunctionMethod) else type(method)
    return str(getattr(named, "__name__", repr(named)))


def _as_tensor(given: Any, name: str) -> Tensor:
    """Return scores as a tensor of real numbers; Python's numbers keep their precision."""
    import numpy as np
    import torch

    if isinstance(given, torch.Tensor):
        scores = given.detach()
    else:
        try:
            array = np.asarray(given)
        except (TypeError, ValueError, RuntimeError) as error:
            raise _no_scores(name, f"no table of numbers ({error})") from None
        if array.dtype.kind not in "biuf":
            raise _no_scores(name, f"no real numbers (a {type(given).__name__} of {array.dtype})")
        scores = torch.from_numpy(np.array(array, dtype=np.float64))
    if scores.is_complex():
        raise _no_scores(name, "complex numbers")
    return scores.float() if scores.dtype == torch.bool else scores


def _no_scores(name: str, what: str) -> ModelError:
    fix = "return one row per anchor with one number per query, as lists, an array or a tensor"
    return ModelError(f"{name} returned {what}", fix=fix)


@contextmanager
def name_in_errors(name: str) -> Iterator[None]:
    """Add the name of a method to the errors of its own code, which keep their tracebacks."""
    try:
        yield
    except TaxoExpanError:
        raise
    except Exception as error:
        error.add_note(f"This is an error of the method {name}.")
        raise


def make_method(name: str, **settings: Any) -> Method | TaxoExpan:
    """Make a registered method, or one of your own that is given as `FILE.py:NAME`.

    `NAME` is a subclass of `Method`, or a function. Instead of a file, a module can be given.

    Examples:
        >>> from taxoexpan import make_method
        >>> make_method("closest-parent").settings
        {}
    """
    fixed = METHODS[name].settings if name in METHODS else {}
    return as_method(find_method(name), **{**fixed, **settings})


def find_method(name: str) -> Any:
    """Return the class or the function of a method."""
    if name in METHODS:
        return _load(METHODS[name].path)
    if ":" not in name:
        raise ConfigurationError(
            f"unknown method {name!r}",
            fix=f"choose from {', '.join(METHODS)}, or give your own as FILE.py:NAME",
        )
    return _load(name)


def as_method(given: Any, **settings: Any) -> Method | TaxoExpan:
    """Return a method; a class is instantiated with the settings, and a function gets them."""
    from taxoexpan.model import TaxoExpan

    if isinstance(given, Method | TaxoExpan) and not settings:
        return given
    is_class = isinstance(given, type)
    if issubclass(given, Method | TaxoExpan) if is_class else callable(given):
        _refuse_settings(given, settings)
        with name_in_errors(getattr(given, "__name__", repr(given))):
            return given(**settings) if is_class else FunctionMethod(given, **settings)
    message = f"{given!r} is not a method"
    fix = "give a function or a subclass of Method; make_method makes one from a name"
    raise ConfigurationError(message, fix=fix)


def has_setting(name: str, setting: str) -> bool:
    """Return whether a method takes a setting; for a registered model, one that users change."""
    from taxoexpan.config import SETTINGS

    is_known = setting in SETTINGS
    if name in METHODS and METHODS[name].is_model:
        return is_known
    given = find_method(name)
    declared = _signature(given)
    parameters = [] if declared is None else [*declared.parameters.values()]
    own = parameters if isinstance(given, type) else parameters[len(_GIVEN) :]
    is_open = any(each.kind == Parameter.VAR_KEYWORD for each in parameters)
    is_allowed = is_known or setting == "preset" or name not in METHODS
    return setting in [each.name for each in own] or (is_open and is_allowed)


_GIVEN = ("taxonomy", "concepts")
"""The first arguments of every function, which are no settings."""


def _signature(given: Any) -> Signature | None:
    """Return the arguments of a class or a function, if they are known."""
    try:
        return signature(given)
    except ValueError:  # a compiled function
        return None


def _refuse_settings(given: Any, settings: Mapping[str, Any]) -> None:
    """Refuse settings that a class or a function does not take, and a lack of required parts."""
    name = getattr(given, "__name__", repr(given))
    if isabstract(given):
        missing = ", ".join(sorted(given.__abstractmethods__))
        raise ConfigurationError(f"{name} does not define {missing}", fix="define it")
    declared = _signature(given)
    if declared is None:
        return
    is_class = isinstance(given, type)
    known = [*declared.parameters][0 if is_class else len(_GIVEN) :]
    try:
        declared.bind(*(() if is_class else _GIVEN), **settings)
    except TypeError as error:
        fix = f"its settings are {', '.join(known)}" if known else "it has no settings"
        if not is_class and len(declared.parameters) < len(_GIVEN):
            fix = f"its first arguments are {' and '.join(_GIVEN)}"
        raise ConfigurationError(f"{name}: {error}", fix=fix) from None
    numbers = (Parameter.empty, int, float, bool, "int", "float", "bool")
    for setting in (declared.parameters.get(each) for each in settings):
        if setting is None or setting.annotation not in numbers:
            continue
        value = settings[setting.name]
        if isinstance(setting.default, int | float) and isinstance(value, str):
            message = f"{setting.name} of {name} is {value!r}"
            fix = f"give a number, such as {setting.default}"
            if isinstance(setting.default, bool):
                fix = "give true or false"
            raise ConfigurationError(message, fix=fix)


def source_file(name: str) -> Path | None:
    """Return the file of a method that is given as `FILE.py:NAME`."""
    path = name.rpartition(":")[0]
    return Path(path) if name not in METHODS and path.endswith(".py") else None


def _load(path: str) -> Any:
    """Import `module:name` or `FILE.py:name`."""
    module_name, _, name = path.rpartition(":")
    module = _import_file(Path(module_name)) if module_name.endswith(".py") else None
    if module is None and ("/" in module_name or Path(module_name).is_file()):
        message = f"{module_name}: not a Python file"
        raise ConfigurationError(message, fix="give the file with your method as FILE.py:NAME")
    if module is None:
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise  # a module that this module needs
            fix = "give an importable module, or FILE.py:NAME"
            if error.name == "reproduction":
                fix = "run `python -m taxoexpan` in the folder of a clone"
            raise ConfigurationError(f"there is no module {error.name!r} here", fix=fix) from None
    if not hasattr(module, name):
        message = f"{module_name} has no {name!r}"
        raise ConfigurationError(message, fix="give the name of a function or a class in it")
    return getattr(module, name)


def _import_file(path: Path) -> Any:
    """Run a file as a module."""
    if not path.is_file():
        message = f"{path}: the file does not exist"
        raise ConfigurationError(message, fix="give the file with your method as FILE.py:NAME")
    spec = spec_from_file_location(f"method_in_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    try:
        with name_in_errors(str(path)):
            spec.loader.exec_module(module)
    except SyntaxError as error:
        if error.filename != str(path):
            raise
        fix = "correct the line"
        raise FormatError(path, f"not Python ({error.msg})", fix=fix, line=error.lineno) from None
    except ImportError as error:
        message = f"{path} cannot be imported: {error}"
        raise ConfigurationError(message, fix="install or correct what it imports") from error
    return module


def default_methods() -> Sequence[str]:
    """Return the names of the methods that `evaluate` compares if none are chosen."""
    return [name for name, method in METHODS.items() if method.is_default]
