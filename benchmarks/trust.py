"""How far confidence and "no good place" can be trusted, on concepts whose parents are known.

    python benchmarks/trust.py leaves TAXONOMY --out 1000 --seed 0 1 2 -o FOLDER
    python benchmarks/trust.py split TAXONOMY --validation FILE --test FILE --seed 0 1 2 -o FOLDER
    python benchmarks/trust.py growth OLD NEW --seed 0 1 2 -o FOLDER
    python benchmarks/trust.py branch TAXONOMY --branch NAME_OR_ID ... -o FOLDER
    python benchmarks/trust.py draw FOLDER ... -o trust.svg

`leaves` holds out random leaves, others for every seed; `split` those that a file names, and
validates on those of another; `growth` learns from OLD and asks for what NEW has added. A first
suggestion is right where it is any of a concept's parents that remain. `branch` takes a branch out
whole and asks for its concepts among held-out leaves of the rest. Each model's answers are kept in
FOLDER, from which `draw` makes the tables again, and the curves.
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
from answers import ASKED, Abstention, Answers, keep, read_kept, tables
from curves import drawn

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import parse_setting
from taxoexpan.errors import ModelError, TaxoExpanError, TaxonomyError
from taxoexpan.experiments.growth.evaluation import growth_between
from taxoexpan.experiments.paper.split import read_split
from taxoexpan.files import write_whole
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.abstention import abstention_features
from taxoexpan.placement.suggestions import SuggestionKind
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.holdout import Holdout, hold_out_leaves

LARGEST = 0.5
"""No more of the leaves are held out for a trial."""


@dataclass(frozen=True)
class Branch:
    """Concepts of a branch that was taken out, of `size` many, and which still have a parent."""

    size: int
    concepts: tuple[Concept, ...]
    kept: tuple[bool, ...]


@dataclass(frozen=True)
class Trial:
    """What is asked of a model that learned from all else; `validation` is its own unless given."""

    name: str
    seed: int
    asked: Holdout
    validation: Holdout | None = None
    branch: Branch | None = None

    @property
    def concepts(self) -> list[Concept]:
        """All that will be asked for."""
        return [*self.asked.concepts, *(self.branch.concepts if self.branch else ())]


def main() -> None:
    """Train a model a seed, keep what it answers, and print the tables."""
    options = parsed()
    try:
        if options.test == "draw":
            draw(options.folders, options.output)
        else:
            ask(options)
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")


def ask(options: argparse.Namespace) -> None:
    """Do all tests that the options tell of."""
    settings = dict(map(parse_setting, options.changes))
    found: list[Answers | Abstention] = []
    for trial in TRIALS[options.test](options):
        print(about(trial), file=sys.stderr, flush=True)
        if options.dry:
            continue
        model = TaxoExpan("best", trial.seed, options.device, **settings, features=options.features)
        model.fit(trial.asked.taxonomy, trial.validation, progress=True, expected=trial.concepts)
        found.append(abstention_of(model, trial) if trial.branch else answers_of(model, trial))
        print(f"kept in {keep(found[-1], options.output)}", file=sys.stderr, flush=True)
    if found:
        print(tables(found))


def draw(folders: Sequence[Path], output: Path) -> None:
    """Print the tables of all that was kept, and draw the curves."""
    found = [read_kept(path) for folder in folders for path in sorted(folder.glob("*-*.json"))]
    if not found:
        raise ModelError(f"no answers in {', '.join(map(str, folders))}; ask some models first")
    made = Counter((each.name, each.seed) for each in found)
    (name, seed), most = made.most_common(1)[0]
    if most > 1:
        raise ModelError(f"{name}, seed {seed}, is in {most} files; leave it in one of them")
    print(tables(found))
    answers = [each for each in found if isinstance(each, Answers)]
    if answers:
        write_whole({output: drawn(answers).encode()}, force=True)


def leaves(options: argparse.Namespace) -> Iterator[Trial]:
    """Random leaves of a taxonomy, others for every seed."""
    whole = Taxonomy.read(options.taxonomy).active
    for seed in options.seeds:
        asked = hold_out_leaves(whole, LARGEST, options.out, seed)
        yield Trial(named(options, options.taxonomy), seed, asked)


def split(options: argparse.Namespace) -> Iterator[Trial]:
    """The leaves that a file names, the same for every seed."""
    validation, asked = read_split(options.taxonomy, options.validation, options.held)
    for seed in options.seeds:
        yield Trial(named(options, options.taxonomy), seed, asked, validation)


def growth(options: argparse.Namespace) -> Iterator[Trial]:
    """What the later of two versions added, the same for every seed."""
    asked = growth_between(Taxonomy.read(options.old), Taxonomy.read(options.new)).queries
    for seed in options.seeds:
        yield Trial(named(options, options.new), seed, asked)


def branch(options: argparse.Namespace) -> Iterator[Trial]:
    """Branches that are taken out, one at a time, beside leaves of what remains."""
    whole = Taxonomy.read(options.taxonomy).active
    ids = {text: find_concept(whole, text) for text in options.branches}
    for text, id in ids.items():
        name = f"{named(options, options.taxonomy)}: {text}"
        for seed in options.seeds:
            yield without_branch(whole, id, options.out, name, seed)


def without_branch(whole: Taxonomy, id: str, most: int, name: str, seed: int) -> Trial:
    """At most so many concepts of a branch, and as many leaves of what remains without it."""
    gone = [id, *whole.descendants(id)]
    rest = whole.without(gone)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(gone))[:most])
    ids = [gone[place] for place in chosen]
    kept = tuple(any(parent in rest for parent in whole.parents(id)) for id in ids)
    taken = Branch(len(gone), tuple(map(whole.concept, ids)), kept)
    return Trial(name, seed, hold_out_leaves(rest, LARGEST, most, seed), branch=taken)


def find_concept(taxonomy: Taxonomy, text: str) -> str:
    """The id of the concept with this id, or else with this name."""
    if text in taxonomy:
        return text
    name = normalize_name(text)
    ids = [
        id
        for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)
        if normalize_name(label) == name
    ]
    if not ids:
        raise TaxonomyError(f"no concept has the id or the name {text!r}; give one that is there")
    if len(ids) > 1:
        several = ", ".join(map(repr, ids[:5]))
        raise TaxonomyError(
            f"{pluralize(len(ids), 'concept')} are called {text!r}; say which by id: {several}"
        )
    return ids[0]


def answers_of(model: TaxoExpan, trial: Trial) -> Answers:
    """The model's first parents for all that is asked, and whether they are right."""
    calibration, asked = model.calibrators.calibration, trial.asked
    if calibration is None:
        raise ModelError("too few leaves to learn a confidence from; take a larger taxonomy")
    # Where a merge is proposed too, the parent still stands in the list.
    first = [s for s in model._suggest(asked.concepts, 1)[0] if s.kind != SuggestionKind.MERGE]
    ids = asked.taxonomy.ids
    true = [{ids[parent] for parent in own.tolist()} for own in asked.parents]
    return Answers(
        name=trial.name,
        seed=trial.seed,
        queries=tuple(concept.id for concept in asked.concepts),
        confidence=tuple(s.confidence_or_score for s in first),
        scores=tuple(s.score for s in first),
        right=tuple(s.parent.id in own for s, own in zip(first, true, strict=True)),
        thresholds=tuple(calibration.reliability.threshold(share) for share in ASKED),
        training=record(model),
    )


def abstention_of(model: TaxoExpan, trial: Trial) -> Abstention:
    """The model's odds of a good place, for the branch that it never saw and for leaves."""
    abstention, taken = model.calibrators.abstention, trial.branch
    if abstention is None or taken is None:
        raise ModelError("too few leaves to learn from what has a place; take a larger taxonomy")

    def odds(concepts: Sequence[Concept]) -> tuple[float, ...]:
        features = abstention_features(model._ranker, model._queries(concepts))
        return tuple(abstention.log_odds(features).tolist())

    return Abstention(
        name=trial.name,
        seed=trial.seed,
        size=taken.size,
        outside=odds(taken.concepts),
        kept=taken.kept,
        inside=odds(trial.asked.concepts),
        least=abstention.threshold,
        training=record(model),
    )


def record(model: TaxoExpan) -> dict[str, Any]:
    """What made the answers, as far as it can be told apart."""
    wanted = ("concepts", "relations", "taxonomy_sha256", "epochs", "best_epoch", "versions")
    settings = model.config.model_dump()
    settings["features"] = without_folder(settings["features"])
    made = {"settings": settings, "device": model.device.type}
    return made | {name: getattr(model.training, name) for name in wanted}


def about(trial: Trial) -> str:
    """What is learned from and what is asked, before it is done."""
    asked, several = trial.asked, sum(len(own) > 1 for own in trial.asked.parents)
    told = (
        f"{trial.name}, seed {trial.seed}: {len(asked.taxonomy):,} concepts to learn from, "
        f"{len(asked.concepts):,} asked for, {several:,} of them with several parents"
    )
    if trial.validation:
        told += f", {len(trial.validation.concepts):,} to validate on"
    if trial.branch:
        lost = trial.branch.kept.count(False)
        told += f"; a branch of {trial.branch.size:,}, of which {len(trial.branch.concepts):,}"
        told += f" asked for, {lost:,} of them with no parent left"
    return told


def named(options: argparse.Namespace, path: Path) -> str:
    """What the test is called: as it is told, or by its file, its kind and its vectors."""
    return options.name or f"{path.stem} {options.test} {without_folder(options.features)}"


def without_folder(features: str) -> str:
    """What makes the vectors, without where it lies on this machine."""
    return features.rstrip("/").rpartition("/")[2]


TRIALS = {"leaves": leaves, "split": split, "growth": growth, "branch": branch}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tests = parser.add_subparsers(dest="test", required=True)
    one, two, three, four = (tests.add_parser(name) for name in TRIALS)
    for each in (one, two, four):
        each.add_argument("taxonomy", type=Path)
    one.add_argument("--out", type=int, default=1000, help="leaves that are asked for")
    two.add_argument(
        "--validation", type=Path, help="ids, one a line; beside a .terms if not given"
    )
    two.add_argument("--test", type=Path, dest="held", help="the same")
    three.add_argument("old", type=Path)
    three.add_argument("new", type=Path)
    four.add_argument("--branch", nargs="+", required=True, dest="branches", metavar="NAME_OR_ID")
    four.add_argument(
        "--out", type=int, default=500, help="of the branch, and of the rest's leaves"
    )
    for each in (one, two, three, four):
        each.add_argument("--seed", type=int, nargs="+", default=[0], dest="seeds")
        each.add_argument("--features", default="static", help="as for taxoexpan train")
        each.add_argument("--device", default="auto")
        each.add_argument(
            "--set", action="append", default=[], dest="changes", metavar="NAME=VALUE"
        )
        each.add_argument("--name", help="what the test is called in tables and drawings")
        each.add_argument("--dry", action="store_true", help="say what would be asked, and stop")
        each.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    last = tests.add_parser("draw")
    last.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    last.add_argument("-o", "--output", type=Path, default=Path("trust.svg"), metavar="SVG")
    return parser.parse_args()


if __name__ == "__main__":
    main()
