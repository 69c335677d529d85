"""Compare methods on a taxonomy's own growth: learn from OLD, place what NEW has added."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_device,
    add_output,
    add_reading,
    positive,
    read_taxonomy,
    seed,
)
from taxoexpan.cli.messages import note, print_json
from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from taxoexpan.experiments.growth.evaluation import Growth, Ranks
    from taxoexpan.experiments.methods.method import Method


EXPERIMENTS = {
    "popularity": "main/popularity",
    "closest-parent": "main/closest-parent",
    "closest-neighbor": "main/closest-neighbor",
    "dist-xgboost": "main/dist-xgboost",
    "parent-mlp": "main/parent-mlp",
    "deepset-mlp": "main/deepset-mlp",
    "taxoexpan-paper": "main/taxoexpan",
    "taxoexpan": "main/taxoexpan-best",
}
"""The methods, and the experiments of the paper whose settings they have."""

FEW = 30
"""With fewer queries a bootstrap over them says little."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("old", type=Path, metavar="OLD", help="a file with a taxonomy")
    parser.add_argument("new", type=Path, metavar="NEW", help="a later version, in any format")
    parser.add_argument(
        "--methods",
        metavar="NAMES",
        help=f"some of {','.join(EXPERIMENTS)} (default: all that can run)",
    )
    parser.add_argument("--features", default="static", metavar="SPEC", help="see train")
    parser.add_argument("--seed", type=seed, default=0, help="the same seed, the same figures")
    parser.add_argument("--epochs", type=positive, help="the most passes of what has a network")
    parser.add_argument(
        "--averaging",
        choices=("fraction", "any", "pooled"),
        default="fraction",
        help="of several true parents each counts in part (default), the best alone, or each whole",
    )
    add_reading(parser)
    add_device(parser)
    add_output(parser, "a CSV file for each method's rank of every true parent")
    parser.add_argument("--json", action="store_true", help="the figures for a program to read")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Let each method learn from OLD and place what is new in NEW."""
    from taxoexpan.device import choose_device
    from taxoexpan.experiments.growth.evaluation import evaluate_growth, growth_between
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.phrasing import pluralize
    from taxoexpan.training.training_log import TrainingLog

    if options.output:
        preflight([options.output], [options.old, options.new], options.force)
    methods = _methods(_chosen(options.methods), options.epochs)
    device = choose_device(options.device)
    encoder = make_encoder(options.features, device=options.device)
    encoder.show_progress(not options.quiet)
    old, new = (read_taxonomy(path, options) for path in (options.old, options.new))
    growth = growth_between(old, new)
    if len(growth.queries.concepts) < FEW:
        count = pluralize(len(growth.queries.concepts), "new concept")
        note(f"note: {count} say little of a method; the intervals are too narrow for so few")

    def begin(name: str) -> None:
        if not options.quiet:
            note(f"{name}: learning from {len(growth.taxonomy):,} concepts")

    report = TrainingLog(progress=not options.quiet)
    ranks = evaluate_growth(growth, methods, encoder, options.seed, device, report, begin)
    if options.output:
        write_whole({options.output: _ranks_csv(growth, ranks).encode()}, options.force)
        note(f"all ranks in {options.output}")
    _print(growth, ranks, options)
    return 0


def _chosen(names: str | None) -> list[str]:
    """The methods that are asked for, or all that can run here."""
    from taxoexpan.experiments.methods.dist_xgboost import refuse_without_xgboost

    chosen = list(
        dict.fromkeys(name.strip() for name in (names or ",".join(EXPERIMENTS)).split(","))
    )
    for name in chosen:
        if name not in EXPERIMENTS:
            message = f"no method is called {name!r}"
            raise ConfigurationError(f"{message}; choose from {', '.join(EXPERIMENTS)}")
    if "dist-xgboost" in chosen:
        try:
            refuse_without_xgboost()
        except ConfigurationError as error:
            if names:
                raise
            note(f"note: dist-xgboost is left out: {error}")
            chosen.remove("dist-xgboost")
    return chosen


def _methods(names: list[str], epochs: int | None) -> dict[str, Method]:
    """The methods with the settings of their experiments."""
    from taxoexpan.experiments.methods.method_registry import make_method
    from taxoexpan.experiments.paper.experiment import find_experiments

    methods = {}
    for name, experiment in zip(
        names, find_experiments([EXPERIMENTS[name] for name in names]), strict=True
    ):
        settings = dict(experiment.settings)
        if epochs and "preset" in settings:
            settings["epochs"] = epochs
        methods[name] = make_method(experiment.method, **settings)
    return methods


def _print(growth: Growth, ranks: dict[str, Ranks], options: argparse.Namespace) -> None:
    """The figures of all methods, and of how many queries they are."""
    from taxoexpan.experiments.growth.comparison import compare, comparison_text
    from taxoexpan.phrasing import pluralize

    compared, queries = compare(ranks, options.averaging), len(growth.queries.concepts)
    left_out = {
        "name_known": growth.known,
        "no_parent_known": growth.orphans,
        "deprecated": growth.deprecated,
    }
    if options.json:
        facts = {"queries": queries, "left_out": left_out, "anchors": len(growth.taxonomy)}
        settings = {name: getattr(options, name) for name in ("features", "seed", "averaging")}
        print_json({**facts, **settings, "methods": [one.as_dict() for one in compared]})
        return
    print(
        f"{pluralize(queries, 'new concept')} placed among {len(growth.taxonomy):,}; left out "
        f"{growth.known:,} whose name OLD has, {growth.orphans:,} none of whose parents it has, "
        f"{growth.deprecated:,} deprecated\n\n{comparison_text(compared)}",
        end="",
    )


def _ranks_csv(growth: Growth, ranks: dict[str, Ranks]) -> str:
    """A row for each true parent of each query, with each method's rank of it."""
    text, queries, taxonomy = io.StringIO(), growth.queries, growth.taxonomy
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["query", "query_id", "parent_id", "parent_label", *ranks])
    for place, (concept, parents) in enumerate(zip(queries.concepts, queries.parents, strict=True)):
        for nth, parent in enumerate(parents.tolist()):
            given = [f"{those[place][nth]:.15g}" for those in ranks.values()]
            known = [taxonomy.ids[parent], taxonomy.labels[parent]]
            writer.writerow([concept.label, concept.id, *known, *given])
    return text.getvalue()
