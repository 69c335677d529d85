"""Compare methods on two releases of a taxonomy: learn from OLD, place what NEW adds."""

from __future__ import annotations

import argparse
import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_device,
    add_glossary,
    add_output,
    add_read_options,
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
"""The methods, and the experiments with their settings."""

OWN_METHOD = "taxoexpan"
"""The method that uses the default settings, as `train` does."""

MIN_QUERIES = 30
"""With fewer queries, the bootstrap intervals are not reliable."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("old", type=Path, metavar="OLD", help="taxonomy file")
    parser.add_argument(
        "new", type=Path, metavar="NEW", help="later release of the taxonomy, in any format"
    )
    parser.add_argument(
        "--methods",
        metavar="NAMES",
        help=f"comma-separated list of {', '.join(EXPERIMENTS)} (default: all; dist-xgboost only "
        "if the extra boost is installed)",
    )
    parser.add_argument(
        "--features",
        default="auto",
        metavar="ENCODER",
        help="encoder, as in train (default: auto, the best one that is installed)",
    )
    parser.add_argument(
        "--seed",
        type=seed,
        default=0,
        help="random seed (default: 0); equal seeds give equal results",
    )
    parser.add_argument("--epochs", type=positive, help="maximum number of epochs of the networks")
    parser.add_argument(
        "--averaging",
        choices=("fraction", "any", "pooled"),
        default="fraction",
        help="how to score a concept with several true parents: fraction = average over them "
        "(default), any = the best one only, pooled = every parent counts as one query",
    )
    add_glossary(parser)
    add_read_options(parser)
    add_device(parser)
    add_output(parser, "CSV file to write: the rank that each method gives to every true parent")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(options: argparse.Namespace) -> int:
    """Train each method on OLD, and let it place the new concepts of NEW."""
    from taxoexpan.device import choose_device
    from taxoexpan.experiments.growth.evaluation import evaluate_growth, growth_between
    from taxoexpan.features.encoder_choice import choose_features
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.features.label_language import warn_of_language
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.phrasing import pluralize
    from taxoexpan.training.training_log import TrainingLog

    if options.output:
        inputs = filter(None, (options.old, options.new, options.glossary))
        preflight([options.output], list(inputs), options.force)
    methods = _methods(_chosen(options.methods), options.epochs)
    device = choose_device(options.device)
    options.features = choose_features(options.features)
    encoder = make_encoder(options.features, device=options.device)
    encoder.show_progress(not options.quiet)
    old, new = (read_taxonomy(path, options) for path in (options.old, options.new))
    warn_of_language(options.features, old.labels)
    growth = growth_between(old, new)
    if options.glossary:
        growth = _with_definitions(growth, options)
    if len(growth.queries.concepts) < MIN_QUERIES:
        count = pluralize(len(growth.queries.concepts), "new concept")
        note(
            f"note: only {count} to place; with fewer than {MIN_QUERIES}, intervals are too narrow"
        )

    def begin(name: str) -> None:
        if not options.quiet:
            note(f"{name}: training on {len(growth.taxonomy):,} concepts")

    report = TrainingLog(progress=not options.quiet)
    ranks = evaluate_growth(growth, methods, encoder, options.seed, device, report, begin)
    if options.output:
        write_whole({options.output: _ranks_csv(growth, ranks).encode()}, options.force)
        note(f"{options.output} written: all ranks")
    _print(growth, ranks, options)
    return 0


def _with_definitions(growth: Growth, options: argparse.Namespace) -> Growth:
    """Look up definitions of the old and the new concepts in a glossary."""
    from taxoexpan.cli.glossary_messages import print_glossary
    from taxoexpan.features.glossary.definition_lookup import look_up_definitions

    queries = growth.queries
    path, progress = options.glossary, not options.quiet
    found = look_up_definitions(path, queries.taxonomy, queries.concepts, progress)
    matches = {"concepts": found.taxonomy_matches, "new concepts": found.new_matches}
    print_glossary(path, found.glossary, matches)
    defined = replace(queries, taxonomy=found.taxonomy, concepts=tuple(found.new))
    return replace(growth, queries=defined)


def _chosen(names: str | None) -> list[str]:
    """Return the names of the chosen methods, by default all that can run."""
    from taxoexpan.experiments.methods.dist_xgboost import refuse_without_xgboost

    chosen = list(
        dict.fromkeys(name.strip() for name in (names or ",".join(EXPERIMENTS)).split(","))
    )
    for name in chosen:
        if name not in EXPERIMENTS:
            message = f"unknown method {name!r}"
            raise ConfigurationError(f"{message}; choose from {', '.join(EXPERIMENTS)}")
    if "dist-xgboost" in chosen:
        try:
            refuse_without_xgboost()
        except ConfigurationError as error:
            if names:
                raise
            note(f"note: skipping dist-xgboost: {error}")
            chosen.remove("dist-xgboost")
    return chosen


def _methods(names: list[str], epochs: int | None) -> dict[str, Method]:
    """Make the methods with the settings of their experiments."""
    from taxoexpan.experiments.methods.method_registry import make_method
    from taxoexpan.experiments.paper.experiment import find_experiments

    methods = {}
    for name, experiment in zip(
        names, find_experiments([EXPERIMENTS[name] for name in names]), strict=True
    ):
        settings = dict(experiment.settings)
        if name == OWN_METHOD:
            settings = {"preset": settings["preset"]}  # as in train, whatever was reproduced with
        if epochs and "preset" in settings:
            settings["epochs"] = epochs
        methods[name] = make_method(experiment.method, **settings)
    return methods


def _print(growth: Growth, ranks: dict[str, Ranks], options: argparse.Namespace) -> None:
    """Print the comparison of all methods, and the number of queries."""
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
        f"{pluralize(queries, 'new concept')} placed among {len(growth.taxonomy):,} concepts; not "
        f"placed: {growth.known:,} with a label that OLD already has, {growth.orphans:,} without a "
        f"parent in OLD, {growth.deprecated:,} deprecated\n\n{comparison_text(compared)}",
        end="",
    )


def _ranks_csv(growth: Growth, ranks: dict[str, Ranks]) -> str:
    """Return one row per true parent of each query, with the rank by each method."""
    text, queries, taxonomy = io.StringIO(), growth.queries, growth.taxonomy
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["query", "query_id", "parent_id", "parent_label", *ranks])
    pairs = zip(queries.concepts, queries.parents, strict=True)
    for query, (concept, parents) in enumerate(pairs):
        for nth, parent in enumerate(parents.tolist()):
            columns = [f"{each[query][nth]:.15g}" for each in ranks.values()]
            names = [taxonomy.ids[parent], taxonomy.labels[parent]]
            writer.writerow([concept.label, concept.id, *names, *columns])
    return text.getvalue()
