"""Commands on taxonomies of awkward shapes: a hub, a long chain, and many parents.

The taxonomies, the new concepts and all outputs are written to FOLDER. Every command runs in a
process of its own; the table has its CPU time and its peak memory.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

HUB_CHILDREN, CHAIN_LENGTH, CHAIN_LEAVES = 200_000, 5_000, 500
MANY_CONCEPTS, MANY_PARENTS = 5_000, 500
STYLES = """smoked dried frozen fresh pickled roasted salted sweet spicy raw boiled steamed grilled
creamy crunchy mild organic canned candied fermented chilled toasted sour bitter minced sliced
braised glazed baked fried"""
KINDS = """oat almond rye corn wheat soy goat sheep apple lemon cherry plum onion garlic pepper
tomato carrot bean lentil pea mushroom walnut chestnut sesame rice barley millet salmon tuna beef
pork turkey duck olive coconut banana mango peach pear grape fig date ginger mint basil thyme sage
dill parsley fennel celery spinach cabbage kale radish turnip pumpkin squash cucumber"""
FORMS = """milk bread cheese soup sauce salad cake pie tart jam juice oil flour paste spread stew
curry roll biscuit cracker pudding cream butter yogurt sausage burger wrap pasta noodle dumpling
pancake waffle muffin syrup vinegar powder broth dip relish pickle"""
REGIONS = """Alpine Baltic Tuscan Nordic Andean Breton Catalan Celtic Danubian Iberian Levantine
Provencal Bavarian Flemish Saxon Swiss Coastal Northern Southern Eastern Western Highland Lowland
Island"""


@dataclass(frozen=True)
class Shape:
    """A taxonomy as labels and relations, and labels of new concepts."""

    name: str
    labels: list[str]
    relations: list[tuple[int, int]]
    new: list[str]


@dataclass(frozen=True)
class Usage:
    """What a command has used; the status is its exit status, or "limit" if it was stopped."""

    shape: str
    command: str
    cpu_seconds: float
    peak_megabytes: float
    status: str


def labels(seed: int) -> Iterator[str]:
    """Yield distinct labels in random order, from one word to four words."""
    rng = np.random.default_rng(seed)
    words = [text.split() for text in (REGIONS, STYLES, KINDS, FORMS)]
    for first in range(len(words) - 1, -1, -1):
        every = list(itertools.product(*words[first:]))
        for index in rng.permutation(len(every)).tolist():
            yield " ".join(every[index])


def hub(children: int, new: int) -> Shape:
    """Return a root with a few branches, one of which has almost all concepts."""
    names = labels(0)
    own = list(itertools.islice(names, children + 5))
    relations = [(0, i) for i in range(1, 5)] + [(1, i) for i in range(5, len(own))]
    return Shape("hub", own, relations, list(itertools.islice(names, new)))


def chain(length: int, leaves: int, new: int) -> Shape:
    """Return a chain with leaves along it."""
    names = labels(1)
    own = list(itertools.islice(names, length + leaves))
    relations = [(i, i + 1) for i in range(length - 1)]
    relations += [(i * length // leaves, length + i) for i in range(leaves)]
    return Shape("chain", own, relations, list(itertools.islice(names, new)))


def many_parents(concepts: int, parents: int, new: int) -> Shape:
    """Return a random tree in which one concept has hundreds of parents."""
    names, rng = labels(2), np.random.default_rng(2)
    own = list(itertools.islice(names, concepts))
    above = (rng.random(concepts - 1) * np.arange(1, concepts)).astype(int)
    relations = list(zip(above.tolist(), range(1, concepts), strict=True))
    middle = concepts // 2
    chosen = rng.choice(middle, parents, replace=False)
    relations += [(int(i), middle) for i in chosen if i != above[middle - 1]]
    return Shape("many parents", own, relations, list(itertools.islice(names, new)))


def write_shape(shape: Shape, folder: Path) -> None:
    """Write a shape as a pair of files with terms and relations, a changed copy, and new labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, kept in (("old", len(shape.labels)), ("changed", len(shape.labels) - 20)):
        with (folder / f"{name}.terms").open("w") as file:
            rows = (f"{i}\t{label}\n" for i, label in enumerate(shape.labels[:kept]))
            file.writelines(rows)
        with (folder / f"{name}.taxo").open("w") as file:
            file.writelines(f"{a}\t{b}\n" for a, b in shape.relations if max(a, b) < kept)
    (folder / "new.txt").write_text("\n".join(shape.new) + "\n")


def write_decisions(folder: Path) -> None:
    """Write decisions that add every new concept below the parent that was suggested first."""
    with (folder / "suggestions.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] != "merge"]
    first = {row["query"]: row["parent_id"] for row in reversed(rows)}
    with (folder / "decisions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("query", "parent_id"), *first.items()])


def commands(epochs: int) -> dict[str, str]:
    """Return the arguments of all commands, with paths relative to the folder of a shape."""
    return {
        "info": "info old.terms",
        "check": "check old.terms --fail-on never",
        "convert": "convert old.terms old.ttl --to skos --force",
        "diff": "diff changed.terms old.terms",
        "train": f"train old.terms -o model --preset fast --epochs {epochs} --force --quiet",
        "info MODEL": "info model",
        "suggest": "suggest model new.txt -o suggestions.csv --force",
        "suggest --evidence": "suggest model new.txt -o why.csv --evidence --force",
        "suggest --report": "suggest model new.txt -o why.csv --report report.html --force",
        "apply": "apply old.terms decisions.csv -o larger.terms --force",
        "diff --to markdown": "diff old.terms larger.terms --to markdown",
        "clean": "clean old.terms -o wrong.csv --preset fast --epochs 1 --folds 2 --work work "
        "--force --quiet",
    }


def measure(shape: str, name: str, arguments: str, folder: Path, limit: int) -> Usage:
    """Run one command in a folder, and return what it has used."""

    def limit_cpu() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    with (folder / f"{name.replace(' ', '')}.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "taxoexpan", *arguments.split()],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=limit_cpu,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    outcome = "limit" if cpu >= limit - 1 else str(process.returncode)
    return Usage(shape, name, round(cpu, 1), round(usage.ru_maxrss / 1024), outcome)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shapes", default="hub,chain,many parents", help="comma-separated list")
    parser.add_argument("--commands", default="", help="comma-separated list (default: all)")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all sizes")
    parser.add_argument("--new", type=int, default=2_000, help="number of new concepts")
    parser.add_argument("--cpu-limit", type=int, default=400, help="seconds per command")


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the commands on every shape, and print a table."""
    new = options.new

    def scaled(size: int) -> int:
        return max(int(size * options.scale), 1)

    shapes = {
        "hub": lambda: hub(scaled(HUB_CHILDREN), new),
        "chain": lambda: chain(scaled(CHAIN_LENGTH), scaled(CHAIN_LEAVES), new),
        "many parents": lambda: many_parents(scaled(MANY_CONCEPTS), scaled(MANY_PARENTS), new),
    }
    every = commands(options.epochs)
    chosen = list(filter(None, options.commands.split(","))) or list(every)
    found: list[Usage] = []
    print("| shape | command | CPU seconds | peak MB | status |\n|---|---|---|---|---|", flush=True)
    for name in options.shapes.split(","):
        folder = options.folder / name.replace(" ", "_")
        write_shape(shapes[name](), folder)
        for command in chosen:
            if command == "apply" and (folder / "suggestions.csv").exists():
                write_decisions(folder)
            used = measure(name, command, every[command], folder, options.cpu_limit)
            found.append(used)
            print(f"| {' | '.join(map(str, asdict(used).values()))} |", flush=True)
    return [asdict(used) for used in found]
