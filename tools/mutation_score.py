"""Measure how many small changes of the code the tests notice.

    python tools/mutation_score.py --packages taxonomy formats placement --mutants 40

A mutant is the package with one operator, number, condition, return value or statement changed.
The tests of the package run once with coverage, to learn which tests reach which lines. Then every
mutant of a seeded sample is run in a forked process by the tests that reach its line, fastest
first. A mutant that no test notices survives; the list of survivors ends the output. Some of
them are equivalent to the original and cannot be noticed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutants import Mutant, find_mutants
from mutation_run import Outcome, Trial, measure_tests, warm_up

ROOT = Path(__file__).parents[1]


def sample(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return a sample in random order, so that also the first part of it is a random sample."""
    return random.Random(seed).sample(mutants, min(count, len(mutants)))


def score_package(package: str, options: argparse.Namespace) -> list[tuple[Mutant, Outcome]]:
    """Test a sample of the mutants of one package; return what was tested in time, by line."""
    folder = ROOT / "src" / "taxoexpan" / package
    mutants = [m for path in sorted(folder.rglob("*.py")) for m in find_mutants(path)]
    tests = measure_tests(ROOT / "tests" / package)
    print(f"{package}: {len(mutants):,} mutants, {tests.count:,} tests", file=sys.stderr)
    trials = [
        Trial(mutant, tests.reaching(mutant.path, mutant.line, options.budget), options.timeout)
        for mutant in sample(mutants, options.mutants, options.seed)
    ]
    found = run_trials(trials, options.processes, options.seconds)
    return sorted(found, key=lambda each: (each[0].path, each[0].line, each[0].number))


def run_trials(
    trials: Sequence[Trial], processes: int, seconds: float | None = None
) -> list[tuple[Mutant, Outcome]]:
    """Run trials in several processes until the time is over."""
    end = None if seconds is None else time.monotonic() + seconds
    found = []
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        running = pool.imap_unordered(_run_trial, trials)
        for _ in trials:
            try:
                mutant, outcome = running.next(end and max(end - time.monotonic(), 0))
            except multiprocessing.TimeoutError:
                break
            print(f"  {outcome.value:<11} {mutant.describe(ROOT)}", file=sys.stderr, flush=True)
            found.append((mutant, outcome))
    return found


def _run_trial(trial: Trial) -> tuple[Mutant, Outcome]:
    return trial.mutant, trial.run() if trial.tests else Outcome.NOT_REACHED


def score_line(package: str, outcomes: Iterable[Outcome]) -> str:
    """Format the counts of one package; a mutant that makes the tests hang counts as killed."""
    counts = Counter(outcomes)
    noticed = counts[Outcome.KILLED] + counts[Outcome.TIMED_OUT]
    numbers = [counts.total(), counts[Outcome.KILLED], counts[Outcome.TIMED_OUT]]
    numbers += [counts[Outcome.SURVIVED], counts[Outcome.NOT_REACHED]]
    share = 100 * noticed / counts.total() if counts else 0
    return f"{package:<12}" + "".join(f"{number:>12}" for number in numbers) + f"{share:>8.0f}%"


def main() -> None:
    """Print the table of scores and the survivors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", nargs="+", default=["taxonomy", "formats", "placement"])
    parser.add_argument("--mutants", type=int, default=40, help="per package (40)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--budget", type=float, default=20, help="seconds of tests per mutant (20)")
    parser.add_argument("--processes", type=int, default=1, help="that test mutants (1)")
    parser.add_argument("--seconds", type=float, help="until no more mutants are tested")
    parser.add_argument("--timeout", type=float, default=60, help="seconds until it hangs (60)")
    options = parser.parse_args()
    os.chdir(ROOT)
    warm_up(ROOT)
    results = {package: score_package(package, options) for package in options.packages}
    columns = ("mutants", "killed", "timed out", "survived", "not reached")
    print(f"{'package':<12}" + "".join(f"{name:>12}" for name in columns) + f"{'score':>9}")
    for package, found in results.items():
        print(score_line(package, [outcome for _, outcome in found]))
    for found in results.values():
        for mutant, outcome in found:
            if outcome in (Outcome.SURVIVED, Outcome.NOT_REACHED):
                print(f"{outcome.value}: {mutant.describe(ROOT)}")


if __name__ == "__main__":
    main()
