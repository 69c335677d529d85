"""One seed of a measurement: the taxonomies, the settings of the model, and the parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from reproduction.experiments import Experiment
from reproduction.split import read_split, split_leaves
from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.errors import ConfigurationError
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.holdout import Holdout

RELEASES = "releases"
"""The value of a parameter that says: the new concepts are those of a newer release."""
Figures = dict[str, Any]
"""The result of a measurement, as it is stored in JSON."""


@dataclass(frozen=True)
class Data:
    """A taxonomy, and its newer release if there is one; without a path, it is the foods."""

    name: str
    taxonomy: Taxonomy
    path: Path | None = None
    release: Taxonomy | None = None

    @classmethod
    def read(cls, path: Path | None, newer: Path | None) -> Data:
        """Read both files; without a path, the food taxonomy of the package."""
        release = read_taxonomy(newer) if newer else None
        if path is not None:
            return cls((newer or path).stem, read_taxonomy(path), path, release)
        if release is not None:
            raise ConfigurationError(
                "a newer release needs the older one", fix="give it with --taxonomy"
            )
        with resources.as_file(resources.files("taxoexpan.data") / "food.csv") as food:
            return cls("food", read_taxonomy(food))

    @property
    def newer(self) -> Taxonomy:
        """The newer release, which some measurements need."""
        if self.release is None:
            message = "this measurement compares two releases of a taxonomy"
            fix = "give them with --taxonomy OLD and --newer NEW, or with --task13 DIR"
            raise ConfigurationError(message, fix=fix)
        return self.release

    def split(self) -> tuple[Holdout, Holdout]:
        """Return the validation and the test concepts that are listed next to the taxonomy."""
        return read_split(self.path) if self.path else split_leaves(self.taxonomy)

    def digest(self) -> str:
        """Return a hash of the taxonomies."""
        whole = [self.taxonomy, *([self.release] if self.release else [])]
        return hashlib.sha256("".join(map(taxonomy_digest, whole)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Trial:
    """A measurement with one seed; `features` replaces the encoder of the settings."""

    experiment: Experiment
    data: Data
    seed: int
    features: str | None = None
    device: str = "auto"
    progress: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The preset of the models, and the settings that differ from it."""
        features = {"features": self.features} if self.features else {}
        return {"preset": "best", **self.experiment.settings, **features}

    def check(self) -> None:
        """Raise an error if the data lacks what the measurement needs."""
        if RELEASES in self.parameters.values():
            _ = self.data.newer

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the measurement."""
        return self.experiment.parameters

    def new_model(self) -> TaxoExpan:
        """Return a model that is not trained yet."""
        return TaxoExpan(seed=self.seed, device=self.device, **self.settings)


def first_places(model: TaxoExpan, concepts: Sequence[Concept]) -> list[Suggestion]:
    """Return the first suggested place of every concept, also of duplicates and similar names."""
    first: dict[str, Suggestion] = {}
    for suggestion in model._suggest(concepts, SuggestOptions(top_k=1))[0]:
        if not suggestion.is_merge:
            first.setdefault(suggestion.query.id, suggestion)
    return [first[concept.id] for concept in concepts]
