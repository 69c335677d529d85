"""The required packages and the extras: their versions, and what is missing or broken."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import TYPE_CHECKING

from taxoexpan.diagnosis.import_trial import Trial

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PURPOSES = {
    "ann": "candidate search in taxonomies of 200,000 concepts and more",
    "boost": "the baseline Dist-XGBoost in evaluate and reproduce",
    "cluster": "suggest with several workers or a Ray cluster; Parquet files",
    "corpus": "vectors that are learned from a text corpus (skipgram:CORPUS)",
    "excel": "reading and writing Excel tables",
    "mcp": "a server for AI assistants (Model Context Protocol)",
    "plots": "figures of reproduce",
    "postgresql": "curators' decisions in PostgreSQL",
    "tensorboard": "training curves in TensorBoard",
    "transformers": "the sentence transformer of the default preset, best",
    "web": "review in the browser, and serve",
}
"""What the extras are for; extras for developers are left out."""

_IMPORT_NAMES = {"scikit-learn": "sklearn"}
"""Import names that differ from the names of the packages."""


@dataclass(frozen=True)
class RequiredPackage:
    """A package that the core needs; without a problem, it is installed and can be imported."""

    name: str
    required: str
    version: str | None
    problem: str | None

    @property
    def fix(self) -> str:
        """The command that installs a suitable version."""
        again = "--force-reinstall " if self.version and self.problem else ""
        return f"pip install {again}'{self.name}{self.required}'"


@dataclass(frozen=True)
class Extra:
    """An optional group of packages, and those of them that are missing or too old."""

    name: str
    purpose: str
    missing: tuple[str, ...]

    @property
    def fix(self) -> str:
        """The command that installs the extra."""
        return f"pip install 'taxoexpan[{self.name}]'"


@dataclass(frozen=True)
class PythonVersion:
    """The version of Python, and the versions that the package supports."""

    version: str
    required: str
    problem: str | None


def python_version() -> PythonVersion:
    """Return the version of Python, and a problem if it is not supported."""
    from packaging.specifiers import SpecifierSet

    found, required = platform.python_version(), str(metadata("taxoexpan")["Requires-Python"])
    supported = SpecifierSet(required).contains(found, prereleases=True)
    problem = None if supported else f"Python {found} is not {required}; use a supported version"
    return PythonVersion(found, required, problem)


def import_names() -> list[str]:
    """Return the names to import of all required packages that are installed."""
    names = [each.name for each in _requirements("")]
    return [_IMPORT_NAMES.get(name, name) for name in names if _installed(name)]


def required_packages(trials: Mapping[str, Trial]) -> list[RequiredPackage]:
    """Return all required packages, with the results of their imports."""
    found = []
    for each in _requirements(""):
        trial = trials.get(_IMPORT_NAMES.get(each.name, each.name))
        problem = _problem(each) or (trial.problem if trial else None)
        found.append(
            RequiredPackage(each.name, str(each.specifier), _installed(each.name), problem)
        )
    return found


def extras() -> list[Extra]:
    """Return all extras for users."""
    return [
        Extra(
            name,
            purpose,
            tuple(f"{each.name}{each.specifier}" for each in _requirements(name) if _problem(each)),
        )
        for name, purpose in PURPOSES.items()
    ]


def _requirements(extra: str) -> Iterator[Requirement]:
    """Yield the requirements of an extra; those of the core if it is empty."""
    from packaging.requirements import Requirement

    for text in metadata("taxoexpan").get_all("Requires-Dist", []):
        requirement = Requirement(text)
        marker = requirement.marker
        is_core = marker is None or marker.evaluate({"extra": ""})
        if is_core if not extra else not is_core and marker and marker.evaluate({"extra": extra}):
            yield requirement


def _problem(requirement: Requirement) -> str | None:
    """Return what is wrong with the installed version of a package."""
    found = _installed(requirement.name)
    if found is None:
        return "not installed"
    if not requirement.specifier.contains(found, prereleases=True):
        return f"version {found} is installed"
    return None


def _installed(name: str) -> str | None:
    """Return the installed version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
