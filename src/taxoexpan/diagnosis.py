"""The state of the installation: packages, encoders, extras, devices, directories and memory."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PURPOSES = {
    "cluster": "suggest with several workers or a Ray cluster; Parquet files",
    "corpus": "vectors that are learned from a text corpus (skipgram:CORPUS)",
    "mcp": "a server for AI assistants (Model Context Protocol)",
    "postgresql": "curators' decisions in PostgreSQL",
    "tensorboard": "training curves in TensorBoard",
    "transformers": "other sentence transformers (transformer:NAME_OR_PATH)",
    "web": "review in the browser, and serve",
}
"""What the extras are for; extras for developers are left out."""

TRIALS = {
    "torch": """
import torch
assert float(torch.ones(2, 2).mm(torch.ones(2, 2)).sum()) == 8.0
devices = ["cpu"]
if torch.cuda.is_available():
    count = torch.cuda.device_count()
    devices += [f"cuda:{n} ({torch.cuda.get_device_name(n)})" for n in range(count)]
if torch.backends.mps.is_available():
    devices.append("mps")
facts = {"devices": devices, "threads": torch.get_num_threads()}
""",
    "static": """
from taxoexpan.features.static import StaticEncoder
facts = {"dimension": StaticEncoder().encode(["green tea"]).shape[1]}
""",
    "pretrained": """
from taxoexpan.features.pretrained import PretrainedEncoder
facts = {"dimension": PretrainedEncoder("cpu").encode(["green tea"]).shape[1]}
""",
}
"""Code that tries more than the import of a package; `facts` is what it finds out."""
TIMEOUT = 300.0
MAX_REASON = 200


@dataclass(frozen=True)
class Package:
    """A required package; `problem` is None if it can be imported."""

    name: str
    required: str
    version: str | None
    problem: str | None
    fix: str | None


@dataclass(frozen=True)
class Extra:
    """An optional group of packages, and the packages that are missing or too old."""

    name: str
    purpose: str
    missing: tuple[str, ...]
    installed: bool
    fix: str | None


@dataclass(frozen=True)
class Encoder:
    """An encoder; `problem` is None if it can be used."""

    name: str
    purpose: str
    problem: str | None


@dataclass(frozen=True)
class Folder:
    """A directory that commands write to; sizes are in bytes."""

    path: str
    size: int
    free: int
    problem: str | None


@dataclass(frozen=True)
class Installation:
    """The result of the diagnosis; `memory` is in bytes, or None if it is unknown."""

    version: str
    platform: str
    python: str
    required_python: str
    packages: list[Package]
    torch: dict[str, Any]
    encoders: list[Encoder]
    extras: list[Extra]
    cache: Folder | None
    temporary: Folder | None
    memory: int | None
    processors: int

    @property
    def problems(self) -> list[str]:
        """The problems of the core, each with a fix; missing extras are not a problem."""
        from packaging.specifiers import SpecifierSet

        found = []
        if not SpecifierSet(self.required_python).contains(self.python, prereleases=True):
            found.append(f"Python {self.python} is not {self.required_python}; use another version")
        found += [f"{each.name}: {each.problem}; {each.fix}" for each in self.packages if each.fix]
        static = self.encoders[0]
        if static.problem and not found:  # it fails, too, if a package is broken
            fix = "pip install --force-reinstall wordllama"
            found.append(f"encoder {static.name}: {static.problem}; {fix}")
        if self.temporary is None or self.temporary.problem:
            found.append("no temporary folder can be written to; set TMPDIR to one that can")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnosis as a dictionary for JSON."""
        return {**asdict(self), "problems": self.problems, "works": not self.problems}


def examine() -> Installation:
    """Examine the installation without changing anything or using the network."""
    try:
        own = version("taxoexpan")
    except PackageNotFoundError:
        message = "taxoexpan itself is not installed, only its source was found"
        raise ConfigurationError(f"{message}; pip install it") from None
    packages, torch = [], dict[str, Any]()
    for requirement in _requirements(""):
        package, facts = _examine_package(requirement)
        packages.append(package)
        torch = facts if requirement.name == "torch" else torch
    extras = [_examine_extra(name, purpose) for name, purpose in PURPOSES.items()]
    return Installation(
        version=own,
        platform=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        required_python=str(metadata("taxoexpan")["Requires-Python"]),
        packages=packages,
        torch=torch,
        encoders=[
            Encoder("static", "word vectors", attempt(TRIALS["static"])[1]),
            Encoder("pretrained", "the encoder of the package", attempt(TRIALS["pretrained"])[1]),
        ],
        extras=extras,
        cache=_cache(),
        temporary=_temporary(),
        memory=_memory(),
        processors=len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1,
    )


def attempt(code: str, timeout: float = TIMEOUT) -> tuple[dict[str, Any], str | None]:
    """Run code in its own process, which it may crash, and return its `facts` and the problem."""
    program = f"import json, sys\nfacts = {{}}\n{code}\nprint(json.dumps(facts), file=sys.stderr)"
    # -P: a file of the current folder must not be imported in place of a package.
    command = [sys.executable, "-P", "-c", program]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return {}, f"the import takes more than {timeout:.0f} s"
    lines = done.stderr.strip().splitlines() or [""]
    if done.returncode < 0:
        return {}, f"the import ends Python with {signal.Signals(-done.returncode).name}"
    if done.returncode == 1:
        return {}, next(line for line in reversed(lines) if line)[:MAX_REASON]
    if done.returncode:
        return {}, f"the import ends Python with status {done.returncode}"
    return json.loads(lines[-1]), None


def _examine_package(requirement: Requirement) -> tuple[Package, dict[str, Any]]:
    """Return the state of a required package, and the facts from trying it."""
    name, found, facts = requirement.name, _installed(requirement.name), dict[str, Any]()
    problem = _problem(requirement)
    if problem is None:
        facts, problem = attempt(TRIALS.get(name, f"import {name}"))
    again = "--force-reinstall " if found else ""
    fix = f"pip install {again}'{name}{requirement.specifier}'" if problem else None
    return Package(name, str(requirement.specifier), found, problem, fix), facts


def _examine_extra(name: str, purpose: str) -> Extra:
    missing = tuple(f"{r.name}{r.specifier}" for r in _requirements(name) if _problem(r))
    fix = f"pip install 'taxoexpan[{name}]'" if missing else None
    return Extra(name, purpose, missing, not missing, fix)


def _requirements(extra: str) -> Iterator[Requirement]:
    """Yield the requirements of an extra, or of the core if `extra` is empty."""
    from packaging.requirements import Requirement

    for text in metadata("taxoexpan").get_all("Requires-Dist", []):
        requirement = Requirement(text)
        marker = requirement.marker
        is_core = marker is None or marker.evaluate({"extra": ""})
        if is_core if not extra else not is_core and marker and marker.evaluate({"extra": extra}):
            yield requirement


def _problem(requirement: Requirement) -> str | None:
    """Return the problem with the installed version of a package, if there is one."""
    found = _installed(requirement.name)
    if found is None:
        return "not installed"
    if not requirement.specifier.contains(found, prereleases=True):
        return f"version {found} is installed"
    return None


def _installed(name: str) -> str | None:
    """Return the installed version of a package, if there is one."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> Folder | None:
    """Return the state of the directory of cached vectors; None if there is no cache."""
    try:
        from taxoexpan.features.cache import cache_folder
    except ImportError:  # a required package is missing, which is reported as such
        return None
    folder = cache_folder()
    return None if folder is None else examine_folder(folder)


def _temporary() -> Folder | None:
    """Return the state of the directory for temporary files; None if there is none."""
    try:
        return examine_folder(Path(tempfile.gettempdir()), measured=False)
    except FileNotFoundError:
        return None


def examine_folder(folder: Path, measured: bool = True) -> Folder:
    """Return the size and the free space of a directory, and whether it can be written to."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    files = [path for path in folder.rglob("*") if path.is_file()] if measured else []
    size = sum(path.stat().st_size for path in files)
    problem = None
    try:  # permissions do not tell this of read-only file systems
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError:
        problem = "the folder cannot be written to"
    return Folder(str(folder), size, shutil.disk_usage(existing).free, problem)


def _memory() -> int | None:
    """Return the memory of the machine, or the limit of the container if the limit is lower."""
    total, limit = None, None
    with suppress(ValueError, OSError, AttributeError):  # Windows has no sysconf
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    return min((each for each in (total, limit) if each is not None), default=None)
