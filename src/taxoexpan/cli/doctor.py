"""Check the installation: packages, extras, encoders, devices and cache."""

from __future__ import annotations

import json
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.messages import note, print_json
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import OptionGroup, switch
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PURPOSES = {
    "cluster": "suggest with several workers or a Ray cluster; Parquet files",
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
StaticEncoder().encode(["green tea"])
""",
    "pretrained": """
from taxoexpan.features.pretrained import PretrainedEncoder
PretrainedEncoder("cpu").encode(["green tea"])
""",
}
"""Code that tries more than the import of a package; `facts` is what it finds out."""
TIMEOUT = 300.0
MAX_REASON = 200

Facts = dict[str, Any]
"""A part of the diagnosis, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Options(OptionGroup):
    """The options of `doctor`."""

    json: bool = switch("print JSON")


def run(options: Options) -> int:
    """Print the diagnosis; return 1 if something that the core needs is broken."""
    found = examine()
    problems = found["problems"]
    if options.json:
        print_json(found)
    else:
        for line in _lines(found):
            print(line.rstrip())
    for problem in problems:
        note(f"taxoexpan: {problem}")
    if not options.json:
        count = pluralize(len(problems), "problem")
        print(f"{count} found" if problems else "everything that is required works")
    return 1 if problems else 0


def examine() -> Facts:
    """Examine the installation without changing anything or using the network."""
    try:
        own = version("taxoexpan")
    except PackageNotFoundError:
        message = "taxoexpan itself is not installed, only its source was found"
        raise ConfigurationError(f"{message}; pip install it") from None
    tried = [_examine_package(requirement) for requirement in _requirements("")]
    found = {
        "version": own,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "required_python": str(metadata("taxoexpan")["Requires-Python"]),
        "packages": [package for package, _ in tried],
        "torch": next((facts for package, facts in tried if package["name"] == "torch"), {}),
        "encoders": [
            {"name": name, "problem": attempt(TRIALS[name])[1]} for name in ("static", "pretrained")
        ],
        "extras": list(_extras()),
        "cache": _cache(),
    }
    problems = _problems(found)
    return {**found, "problems": problems, "works": not problems}


def _problems(found: Facts) -> list[str]:
    """Return the problems of the core, each with a fix; missing extras are not a problem."""
    problems = [f"{p['name']}: {p['problem']}; {p['fix']}" for p in found["packages"] if p["fix"]]
    static = found["encoders"][0]["problem"]
    if static and not problems:  # it fails, too, if a package is broken
        problems.append(f"encoder static: {static}; pip install --force-reinstall wordllama")
    return problems


def attempt(code: str, timeout: float = TIMEOUT) -> tuple[Facts, str | None]:
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
    if done.returncode == 1:
        return {}, lines[-1][:MAX_REASON]
    if status := done.returncode:
        end = signal.Signals(-status).name if status < 0 else f"status {status}"
        return {}, f"the import ends Python with {end}"
    return json.loads(lines[-1]), None


def _examine_package(requirement: Requirement) -> tuple[Facts, Facts]:
    """Return the state of a required package, and the facts from trying it."""
    name, required, facts = requirement.name, str(requirement.specifier), Facts()
    found, problem = _installed(requirement)
    if problem is None:
        facts, problem = attempt(TRIALS.get(name, f"import {name}"))
    fix = f"pip install {'--force-reinstall ' if found else ''}'{name}{required}'"
    package = {"name": name, "required": required, "version": found, "problem": problem}
    return {**package, "fix": fix if problem else None}, facts


def _extras() -> Iterator[Facts]:
    for name, purpose in PURPOSES.items():
        missing = [f"{r.name}{r.specifier}" for r in _requirements(name) if _installed(r)[1]]
        fix = f"pip install 'taxoexpan[{name}]'" if missing else None
        yield {"name": name, "purpose": purpose, "missing": missing, "fix": fix}


def _requirements(extra: str) -> Iterator[Requirement]:
    """Yield the requirements of an extra, or of the core if `extra` is empty."""
    from packaging.requirements import Requirement

    for text in metadata("taxoexpan").get_all("Requires-Dist", []):
        requirement = Requirement(text)
        marker = requirement.marker
        is_core = marker is None or marker.evaluate({"extra": ""})
        if is_core if not extra else not is_core and marker and marker.evaluate({"extra": extra}):
            yield requirement


def _installed(requirement: Requirement) -> tuple[str | None, str | None]:
    """Return the installed version of a package, and the problem with it, if there is one."""
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return None, "not installed"
    is_allowed = requirement.specifier.contains(found, prereleases=True)
    return found, None if is_allowed else f"version {found} is installed"


def _cache() -> Facts | None:
    """Return the directory of cached vectors, its size and its free space; None if none is used."""
    try:
        from taxoexpan.features.cache import cache_folder
    except ImportError:  # a required package is missing, which is reported as such
        return None
    folder = cache_folder()
    if folder is None:
        return None
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    problem = None
    try:  # permissions do not tell this of read-only file systems
        tempfile.TemporaryFile(dir=existing).close()
    except OSError:
        problem = "the folder cannot be written to"
    free = shutil.disk_usage(existing).free
    return {"path": str(folder), "size": size, "free": free, "problem": problem}


def _lines(found: Facts) -> Iterator[str]:
    """Yield the lines of the diagnosis as text."""
    python = f"Python {found['python']} ({found['required_python']})"
    yield f"taxoexpan {found['version']}, {python}, {found['platform']}"
    yield from ("", "Required packages")
    for each in found["packages"]:
        state = each["problem"] or "ok"
        yield f"  {each['name']:<14}{each['version'] or '-':<16}{each['required']:<10}{state}"
    yield from ("", "Encoders")
    for each in found["encoders"]:
        yield f"  {each['name']:<14}{each['problem'] or 'ok'}"
    yield from ("", "Extras")
    for each in found["extras"]:
        state = f"missing; {each['fix']}" if each["missing"] else "installed"
        yield f"  {each['name']:<14}{state} ({each['purpose']})"
    yield from ("", "Machine")
    torch, cache = found["torch"], found["cache"]
    devices = f"{', '.join(torch['devices'])}; threads: {torch['threads']}" if torch else ""
    yield f"  torch         {devices or 'cannot be used'}"
    if cache:
        state = cache["problem"] or "can be written to"
        space = f"{cache['size'] / 1e9:,.1f} GB used, {cache['free'] / 1e9:,.1f} GB free"
        yield f"  cache         {cache['path']}: {state}, {space}"
    yield ""
