"""An installation as a whole: whether its core works, and what is wrong if it does not."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from taxoexpan.diagnosis.import_trial import STATIC, TRANSFORMER, Trial, try_imports
from taxoexpan.diagnosis.installed_packages import (
    Extra,
    PythonVersion,
    RequiredPackage,
    extras,
    import_names,
    python_version,
    required_packages,
)
from taxoexpan.diagnosis.machine_resources import (
    FolderState,
    MemoryState,
    cache_state,
    memory_state,
    processor_count,
    temporary_state,
)
from taxoexpan.errors import ConfigurationError


@dataclass(frozen=True)
class EncoderState:
    """An encoder, what it is for, and why it cannot be used, if so."""

    name: str
    purpose: str
    problem: str | None


@dataclass(frozen=True)
class Installation:
    """Everything that the diagnosis has found."""

    version: str
    platform: str
    python: PythonVersion
    packages: list[RequiredPackage]
    torch: Mapping[str, Any]
    encoders: list[EncoderState]
    extras: list[Extra]
    cache: FolderState | None
    temporary: FolderState | None
    memory: MemoryState
    processors: int

    @property
    def problems(self) -> list[str]:
        """What is wrong with the core, with the fix; missing extras are no problem."""
        found = [self.python.problem] if self.python.problem else []
        found += [
            f"{each.name}: {each.problem}; {each.fix}" for each in self.packages if each.problem
        ]
        static = self.encoders[0]
        if static.problem and not found:  # it fails, too, if a package is broken
            fix = "pip install --force-reinstall wordllama"
            found.append(f"encoder {static.name}: {static.problem}; {fix}")
        if self.temporary is None or self.temporary.problem:
            found.append("no temporary folder can be written to; set TMPDIR to one that can")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnosis for JSON."""
        content = asdict(self)
        for each, extra in zip(content["extras"], self.extras, strict=True):
            each.update(installed=not extra.missing, fix=extra.fix if extra.missing else None)
        return {**content, "problems": self.problems, "works": not self.problems}


def examine() -> Installation:
    """Examine the installation; nothing is changed, and no network is used."""
    try:
        own = version("taxoexpan")
        names = import_names()
    except PackageNotFoundError:
        raise ConfigurationError(
            "taxoexpan itself is not installed, only its source was found; pip install it"
        ) from None
    except ImportError as error:
        raise ConfigurationError(f"{error}; pip install packaging") from None
    trials = try_imports([*names, STATIC, TRANSFORMER])
    optional = extras()
    try:
        cache = cache_state()
    except ImportError:  # a required package is missing, which is reported as such
        cache = None
    return Installation(
        version=own,
        platform=f"{platform.system()} {platform.machine()}",
        python=python_version(),
        packages=required_packages(trials),
        torch=trials["torch"].facts if "torch" in trials else {},
        encoders=_encoders(trials, optional),
        extras=optional,
        cache=cache,
        temporary=temporary_state(),
        memory=memory_state(),
        processors=processor_count(),
    )


def _encoders(trials: Mapping[str, Trial], optional: list[Extra]) -> list[EncoderState]:
    """Return the state of the encoders that need no file of the user."""
    missing = next(extra for extra in optional if extra.name == "transformers").missing
    problem = trials[TRANSFORMER].problem
    if missing:
        problem = f"{', '.join(missing)} is not installed"
    return [
        EncoderState("static", "word vectors; the preset fast", trials[STATIC].problem),
        EncoderState("transformer:all-MiniLM-L6-v2", "the preset best", problem),
    ]
