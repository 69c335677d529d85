"""Measure the calibration of confidence and abstention on concepts with known parents.

    python benchmarks/confidence_calibration.py leaves TAXONOMY --out 1000 --seed 0 1 2 -o FOLDER
    python benchmarks/confidence_calibration.py split TAXONOMY --validation IDS --test IDS -o FOLDER
    python benchmarks/confidence_calibration.py growth OLD NEW --seed 0 1 2 -o FOLDER
    python benchmarks/confidence_calibration.py branch TAXONOMY --branch NAME_OR_ID ... -o FOLDER
    python benchmarks/confidence_calibration.py draw FOLDER ... -o trust.svg

`leaves` holds out random leaves, different ones for every seed. `split` holds out the leaves that a
file lists, and validates on those of another file. `growth` learns from OLD and places what NEW
adds. A first suggestion is right if it is any of the concept's remaining parents. `branch` removes
a whole branch and ranks its concepts together with held-out leaves of the rest. The results of each
model are stored in FOLDER; `draw` prints the tables again and plots the curves.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from calibration_plots import plot_svg
from calibration_results import (
    PRECISIONS,
    AbstentionResult,
    ConfidenceResult,
    load_result,
    save_result,
    tables,
)

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import parse_setting
from taxoexpan.errors import ModelError, TaxoExpanError, TaxonomyError
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.files import write_whole
from taxoexpan.placement.learned.abstention import abstention_features
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_leaves

MAX_HELD_OUT = 0.5
"""The maximum fraction of the leaves that a trial holds out."""


@dataclass(frozen=True)
class Branch:
    """Some concepts of a removed branch of `size` concepts, and which still have a parent."""

    size: int
    concepts: tuple[Concept, ...]
    has_parent: tuple[bool, ...]


@dataclass(frozen=True)
class Trial:
    """The queries for a model that learns from the rest; `validation` replaces its own holdout."""

    name: str
    seed: int
    test: Holdout
    validation: Holdout | None = None
    branch: Branch | None = None

    @property
    def concepts(self) -> list[Concept]:
        """All queries."""
        return [*self.test.concepts, *(self.branch.concepts if self.branch else ())]


def main() -> None:
    """Train one model per seed, store its results, and print the tables."""
    options = parse_arguments()
    try:
        if options.test == "draw":
            draw(options.folders, options.output)
        else:
            run_trials(options)
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")


def run_trials(options: argparse.Namespace) -> None:
    """Run all trials of a test."""
    settings = dict(map(parse_setting, options.changes))
    results: list[ConfidenceResult | AbstentionResult] = []
    for trial in TRIALS[options.test](options):
        print(describe_trial(trial), file=sys.stderr, flush=True)
        if options.dry:
            continue
        model = TaxoExpan("best", trial.seed, options.device, **settings, features=options.features)
        model.fit(trial.test.taxonomy, trial.validation, progress=True)
        measure = measure_abstention if trial.branch else measure_confidence
        results.append(measure(model, trial))
        print(f"{save_result(results[-1], options.output)} written", file=sys.stderr, flush=True)
    if results:
        print(tables(results))


def draw(folders: Sequence[Path], output: Path) -> None:
    """Print the tables of all stored results, and plot the curves."""
    paths = [path for folder in folders for path in sorted(folder.glob("*-*.json"))]
    results = [load_result(path) for path in paths]
    if not results:
        raise ModelError(f"no results in {', '.join(map(str, folders))}", fix="run a test first")
    counts = Counter((each.name, each.seed) for each in results)
    (name, seed), count = counts.most_common(1)[0]
    if count > 1:
        raise ModelError(f"{name}, seed {seed}, is in {count} files", fix="keep one of them")
    print(tables(results))
    confidence = [each for each in results if isinstance(each, ConfidenceResult)]
    if confidence:
        write_whole({output: plot_svg(confidence).encode()}, force=True)


def leaves(options: argparse.Namespace) -> Iterator[Trial]:
    """Hold out random leaves, different ones for every seed."""
    whole = Taxonomy.read(options.taxonomy).active
    for seed in options.seeds:
        test = hold_out_leaves(whole, MAX_HELD_OUT, options.out, seed)
        yield Trial(test_name(options, options.taxonomy), seed, test)


def split(options: argparse.Namespace) -> Iterator[Trial]:
    """Hold out the leaves that a file lists, the same for every seed."""
    whole, path = Taxonomy.read(options.taxonomy).active, options.taxonomy
    files = (
        options.validation or path.with_name(f"{path.name}.validation"),
        options.held or path.with_name(f"{path.name}.test"),
    )
    lists = [file.read_text(encoding="utf-8").splitlines() for file in files]
    training = whole.without([id for ids in lists for id in ids])
    validation, test = (hold_out(whole, ids, training) for ids in lists)
    for seed in options.seeds:
        yield Trial(test_name(options, options.taxonomy), seed, test, validation)


def growth(options: argparse.Namespace) -> Iterator[Trial]:
    """Place what the later release adds, the same for every seed."""
    test = growth_between(Taxonomy.read(options.old), Taxonomy.read(options.new)).queries
    for seed in options.seeds:
        yield Trial(test_name(options, options.new), seed, test)


def branch(options: argparse.Namespace) -> Iterator[Trial]:
    """Remove branches, one at a time, and hold out leaves of the rest."""
    whole = Taxonomy.read(options.taxonomy).active
    ids = {text: find_concept(whole, text) for text in options.branches}
    for text, id in ids.items():
        name = f"{test_name(options, options.taxonomy)}: {text}"
        for seed in options.seeds:
            yield without_branch(whole, id, options.out, name, seed)


def without_branch(whole: Taxonomy, id: str, count: int, name: str, seed: int) -> Trial:
    """Return at most `count` concepts of a branch, and as many leaves of the rest."""
    removed = [id, *whole.descendants(id)]
    rest = whole.without(removed)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(removed))[:count])
    ids = [removed[index] for index in chosen]
    has_parent = tuple(any(parent in rest for parent in whole.parents(id)) for id in ids)
    branch = Branch(len(removed), tuple(map(whole.concept, ids)), has_parent)
    return Trial(name, seed, hold_out_leaves(rest, MAX_HELD_OUT, count, seed), branch=branch)


def find_concept(taxonomy: Taxonomy, text: str) -> str:
    """Return the id of the concept with this id, or else with this label."""
    if text in taxonomy:
        return text
    name = normalize_name(text)
    ids = [
        id
        for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)
        if normalize_name(label) == name
    ]
    if not ids:
        raise TaxonomyError(
            f"no concept has the id or the label {text!r}", fix="check the spelling"
        )
    if len(ids) > 1:
        several = ", ".join(map(repr, ids[:5]))
        raise TaxonomyError(
            f"{len(ids):,} concepts have the label {text!r}", fix=f"give one of the ids {several}"
        )
    return ids[0]


def measure_confidence(model: TaxoExpan, trial: Trial) -> ConfidenceResult:
    """Return the first suggestion of every query, and whether it is right."""
    calibration, test = model.calibrators.calibration, trial.test
    if calibration is None:
        raise ModelError("too few leaves to calibrate the confidence", fix="use a larger taxonomy")
    # If a merge is suggested too, the parent is still in the list.
    first = [s for s in model._suggest(test.concepts, 1)[0] if s.kind != SuggestionKind.MERGE]
    ids = test.taxonomy.ids
    true = [{ids[parent] for parent in own.tolist()} for own in test.parents]
    return ConfidenceResult(
        name=trial.name,
        seed=trial.seed,
        queries=tuple(concept.id for concept in test.concepts),
        confidence=tuple(s.confidence_or_score for s in first),
        scores=tuple(s.score for s in first),
        right=tuple(s.parent.id in own for s, own in zip(first, true, strict=True)),
        thresholds=tuple(calibration.reliability.threshold(precision) for precision in PRECISIONS),
        training=record(model),
    )


def measure_abstention(model: TaxoExpan, trial: Trial) -> AbstentionResult:
    """Return the closeness to the taxonomy of the removed branch and for leaves."""
    abstention, branch = model.calibrators.abstention, trial.branch
    if abstention is None or branch is None:
        raise ModelError("too few leaves to learn when to abstain", fix="use a larger taxonomy")

    def odds(concepts: Sequence[Concept]) -> tuple[float, ...]:
        features = abstention_features(model._ranker, model._queries(concepts))
        return tuple(abstention.closeness(features).tolist())

    return AbstentionResult(
        name=trial.name,
        seed=trial.seed,
        size=branch.size,
        outside=odds(branch.concepts),
        has_parent=branch.has_parent,
        inside=odds(trial.test.concepts),
        threshold=abstention.threshold,
        training=record(model),
    )


def record(model: TaxoExpan) -> dict[str, Any]:
    """Return what is needed to repeat the training."""
    wanted = ("concepts", "relations", "taxonomy_sha256", "epochs", "best_epoch", "versions")
    settings = model.config.model_dump()
    settings["features"] = without_folder(settings["features"])
    made = {"settings": settings, "device": model.device.type}
    return made | {name: getattr(model.training, name) for name in wanted}


def describe_trial(trial: Trial) -> str:
    """Describe the training and the queries of a trial."""
    test, several = trial.test, sum(len(own) > 1 for own in trial.test.parents)
    text = (
        f"{trial.name}, seed {trial.seed}: {len(test.taxonomy):,} training concepts, "
        f"{len(test.concepts):,} queries, {several:,} of them with several parents"
    )
    if trial.validation:
        text += f", {len(trial.validation.concepts):,} validation queries"
    if trial.branch:
        lost = trial.branch.has_parent.count(False)
        text += f"; {len(trial.branch.concepts):,} queries from a branch of {trial.branch.size:,}"
        text += f", {lost:,} of them with no parent left"
    return text


def test_name(options: argparse.Namespace, path: Path) -> str:
    """Return the given name of the test, or one made of its file, kind and vectors."""
    return options.name or f"{path.stem} {options.test} {without_folder(options.features)}"


def without_folder(features: str) -> str:
    """Return the specification of the vectors without folders of this machine."""
    return features.rstrip("/").rpartition("/")[2]


TRIALS = {"leaves": leaves, "split": split, "growth": growth, "branch": branch}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tests = parser.add_subparsers(dest="test", required=True)
    one, two, three, four = (tests.add_parser(name) for name in TRIALS)
    for each in (one, two, four):
        each.add_argument("taxonomy", type=Path)
    one.add_argument("--out", type=int, default=1000, help="number of leaves to hold out")
    two.add_argument(
        "--validation",
        type=Path,
        help="a file with one id per line (default: next to the .terms file)",
    )
    two.add_argument("--test", type=Path, dest="held", help="the same for the test queries")
    three.add_argument("old", type=Path)
    three.add_argument("new", type=Path)
    four.add_argument("--branch", nargs="+", required=True, dest="branches", metavar="NAME_OR_ID")
    four.add_argument(
        "--out",
        type=int,
        default=500,
        help="number of concepts of the branch, and of leaves of the rest",
    )
    for each in (one, two, three, four):
        each.add_argument("--seed", type=int, nargs="+", default=[0], dest="seeds")
        each.add_argument("--features", default="static", help="as for taxoexpan train")
        each.add_argument("--device", default="auto")
        each.add_argument(
            "--set", action="append", default=[], dest="changes", metavar="NAME=VALUE"
        )
        each.add_argument("--name", help="the name of the test in tables and plots")
        each.add_argument("--dry", action="store_true", help="describe the trials without training")
        each.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    last = tests.add_parser("draw")
    last.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    last.add_argument("-o", "--output", type=Path, default=Path("trust.svg"), metavar="SVG")
    return parser.parse_args()


if __name__ == "__main__":
    main()
