r"""Write the names of all tests, one per line; no text for training may have one of them.

    python -m reproduction icd WHEEL -o icd-2021.csv    # and icd-2025.csv
    python -m reproduction.pretraining.excluded_names -o tests.txt \
        --growth shopify-2025-09.txt,shopify-2025-12.txt --growth icd-2021.csv,icd-2025.csv \
        --mag-cs MAG_CS_FOLDER --semeval TASK_14_FOLDER --terms science_eval.terms

The names are the concepts that a newer release adds, the validation and test concepts of MAG-CS and
the new names in its folder, the data of SemEval-2016 Task 14, files with one name per line (those
of Task 13), and the foods of the package that are held out or new.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from reproduction.pretraining.overlap import read_labels
from reproduction.split import read_split, split_leaves
from taxoexpan import read_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError, TaxoExpanError
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.training.holdout import HOLDOUTS

FOOD_SEEDS = (0, 1, 2)
"""The seeds with which the tests hold foods out."""
MAX_FOODS = 1000
"""The foods that a seed holds out, at most."""
MAG_CS_TERMS = "computer_science.terms"
MAG_CS_NEW = "mag_cs_new637.txt"
SEMEVAL_DATA = "*/*.data.tsv"


def added_names(releases: str) -> list[str]:
    """Return the labels that the later release of `OLD,NEW` adds, at any depth.

    A test has only those with a parent in the old release. The others are excluded as well, because
    they often repeat the name of a parent that a test has.
    """
    old, _, new = releases.partition(",")
    if not (old and new):
        raise ConfigurationError(f"{releases!r} is not a pair of releases", fix="give OLD,NEW")
    return [each.label for each in Difference(read_taxonomy(old), read_taxonomy(new)).added]


def mag_cs_names(folder: Path) -> Iterator[str]:
    """Yield the validation and test concepts of MAG-CS, and the names that it lacks."""
    for holdout in read_split(folder / MAG_CS_TERMS):
        for concept in holdout.concepts:
            yield concept.label
    for line in read_labels(folder / MAG_CS_NEW):
        yield line.partition("\t")[0]


def semeval_names(folder: Path) -> Iterator[str]:
    """Yield the lemmas of the training, trial and test data of SemEval-2016 Task 14."""
    paths = sorted(folder.glob(SEMEVAL_DATA))
    if not paths:
        raise FormatError(folder, f"no file {SEMEVAL_DATA}", fix="give the folder of the task")
    for path in paths:
        for line in read_labels(path):
            yield line.partition("\t")[0]


def food_names() -> Iterator[str]:
    """Yield the foods of the package that a test holds out, and the new ones."""
    data = resources.files("taxoexpan.data")
    with resources.as_file(data / "food.csv") as path:
        food = read_taxonomy(path)
    orders = food, food.canonical  # the order decides which concepts a seed holds out
    drawn = [
        hold_out(each, "auto", MAX_FOODS, seed)
        for each in orders
        for hold_out in HOLDOUTS.values()
        for seed in FOOD_SEEDS
    ]
    for holdout in [*split_leaves(food), *drawn]:
        for concept in holdout.concepts:
            yield concept.label
    with (data / "new-foods.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield row["label"]


def names_of(options: argparse.Namespace) -> Iterator[str]:
    """Yield the names of all given tests and of the foods."""
    for releases in options.growth:
        yield from added_names(releases)
    if options.mag_cs:
        yield from mag_cs_names(options.mag_cs)
    if options.semeval:
        yield from semeval_names(options.semeval)
    for path in options.terms:
        yield from read_labels(path)
    yield from food_names()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--growth", action="append", default=[], metavar="OLD,NEW")
    parser.add_argument("--mag-cs", type=Path, metavar="FOLDER")
    parser.add_argument("--semeval", type=Path, metavar="FOLDER")
    parser.add_argument("--terms", type=Path, action="append", default=[], metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        names = sorted({" ".join(name.split()) for name in names_of(options)} - {""})
        options.output.write_text("\n".join(names) + "\n", encoding="utf-8")
    except (OSError, TaxoExpanError) as error:
        sys.exit(f"error: {error}")
    print(f"{len(names):,} names", file=sys.stderr)


if __name__ == "__main__":
    main()
