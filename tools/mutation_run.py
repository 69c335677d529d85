"""Running tests in forked processes: once with coverage, and then for every mutant."""

from __future__ import annotations

import contextlib
import enum
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from mutants import Mutant

OPTIONS = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
OPTIONS += ["-o", "addopts=", "--hypothesis-seed=0"]
WARM = ("pytest", "hypothesis", "torch", "scipy.sparse", "sklearn", "pydantic", "tqdm", "rdflib")
WARM += ("pyoxigraph", "fastobo", "openpyxl", "wordllama", "safetensors.torch", "tokenizers")


BROKEN = 70
"""The status of a process whose tests could not be started."""


class Outcome(enum.Enum):
    """What the tests say about a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class ReachingTests:
    """The tests that reach each line, and the seconds that each test takes."""

    lines: dict[str, dict[int, list[str]]]
    """Per file and line, tests as `module.function`."""
    seconds: dict[str, float]
    files: dict[str, Path]
    """The file of each test module."""

    @property
    def count(self) -> int:
        """The number of test functions."""
        return len(self.seconds)

    def reaching(self, path: Path, line: int, budget: float) -> list[str]:
        """Return the node ids of the tests that reach a line: those of its module, then others.

        Within both, the fastest come first, and together they take no longer than the budget.
        """
        own = f"test_{path.stem}."
        names = self.lines.get(str(path), {}).get(line, [])
        names = sorted(names, key=lambda name: self.seconds.get(name, 0.0))
        names.sort(key=lambda name: not name.startswith(own))
        chosen, spent = [], 0.0
        for name in names:
            spent += self.seconds.get(name, 0.0)
            if chosen and spent > budget:
                break
            module, _, function = name.partition(".")
            chosen.append(f"{self.files[module]}::{function}")
        return chosen


def warm_up(root: Path) -> None:
    """Import the libraries that all tests need, and nothing of taxoexpan, before forking."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["PYTHONPATH"] = str(root / "src")
    sys.path.insert(0, str(root / "src"))
    for name in WARM:
        with contextlib.suppress(ImportError):  # an optional library, whose tests skip
            importlib.import_module(name)


def measure_tests(folder: Path) -> ReachingTests:
    """Run the tests of a folder with coverage, in a forked process."""
    with tempfile.TemporaryDirectory() as temporary:
        result = Path(temporary) / "tests.json"
        _in_fork(lambda: _measure(folder, result), None)
        if not result.exists():
            raise SystemExit(f"the tests in {folder} fail without any mutant; run pytest {folder}")
        found = json.loads(result.read_text(encoding="utf-8"))
    lines = {
        path: {int(line): names for line, names in by_line.items()}
        for path, by_line in found["lines"].items()
    }
    files = {path.stem: path for path in folder.rglob("test_*.py")}
    return ReachingTests(lines, found["seconds"], files)


def _measure(folder: Path, result: Path) -> int:
    """Write the lines that each test reaches, and its time."""
    import coverage

    data = str(result.with_suffix(".coverage"))
    measured = coverage.Coverage(data_file=data, config_file=False, source_pkgs=["taxoexpan"])
    watch = _Watch(measured.switch_context)
    measured.start()
    status = pytest.main([*OPTIONS, str(folder)], plugins=[watch])
    measured.stop()
    if status:
        return int(status)
    stored = measured.get_data()
    lines = {
        path: {
            line: [name for name in names if name]
            for line, names in stored.contexts_by_lineno(path).items()
        }
        for path in stored.measured_files()
    }
    result.write_text(json.dumps({"lines": lines, "seconds": watch.seconds}), encoding="utf-8")
    return 0


class _Watch:
    """A plugin of pytest that names the running test, and adds up the seconds of each."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._announce = announce

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Announce the next test."""
        self._announce(_name_of(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of one phase of a test."""
        self.seconds[_name_of(report.nodeid)] += report.duration


def _name_of(nodeid: str) -> str:
    """Return the module and the function of a test, without its parameters."""
    file, _, test = nodeid.partition("::")
    return f"{Path(file).stem}.{test.partition('[')[0]}"


@dataclass(frozen=True)
class Trial:
    """The run of some tests on one mutant."""

    mutant: Mutant
    tests: Sequence[str]
    timeout: float

    def run(self) -> Outcome:
        """Run the tests in a forked process until one fails."""
        status = _in_fork(self._test, self.timeout)
        if status is None:
            return Outcome.TIMED_OUT
        if status in (pytest.ExitCode.NO_TESTS_COLLECTED, BROKEN):
            raise RuntimeError(f"the tests did not run: {' '.join(self.tests)}")
        return Outcome.SURVIVED if status == 0 else Outcome.KILLED

    def _test(self) -> int:
        sys.meta_path.insert(0, _MutantFinder(self.mutant))
        return int(pytest.main([*OPTIONS, *self.tests]))


class _MutantFinder(importlib.abc.MetaPathFinder):
    """Finds the mutated module before its file is found."""

    def __init__(self, mutant: Mutant) -> None:
        self._path, self._code = str(mutant.path), mutant.compile()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification with another loader, if it is the module of the mutant."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin != self._path:
            return None
        spec.loader = _MutantLoader(name, self._path, self._code)
        return spec


class _MutantLoader(importlib.machinery.SourceFileLoader):
    """Loads a module from the code of a mutant."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, _: str) -> CodeType:
        """Return the changed code."""
        return self._code


def _in_fork(work: Callable[[], int], timeout: float | None) -> int | None:
    """Run a function in a forked process group, and return its status, or None if it hangs."""
    child = os.fork()
    if not child:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        status = BROKEN
        try:
            status = work()
        finally:
            os._exit(status)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if end is not None and time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)
