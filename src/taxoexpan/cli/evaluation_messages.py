"""The output of the command `evaluate`: the comparison as text or JSON, and the ranks as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import print_json

if TYPE_CHECKING:
    from taxoexpan.cli.evaluate import Options
    from taxoexpan.evaluation.growth import Growth, MethodResult


def print_results(growth: Growth, results: Mapping[str, MethodResult], options: Options) -> None:
    """Print the comparison of all methods."""
    if options.json:
        _print_json(growth, results, options)
    else:
        _print_text(growth, results, options)


def _print_json(growth: Growth, results: Mapping[str, MethodResult], options: Options) -> None:
    from taxoexpan.evaluation.comparison import compare, overlap_hits

    ranks = {name: result.ranks for name, result in results.items()}
    methods = []
    for one in compare(ranks, options.averaging):
        fields, result = one.as_dict(), results[one.method]
        if result.features is not None:
            confidence = None if result.confidence is None else result.confidence.as_dict()
            fields |= {"features": result.features, "confidence": confidence}
        methods.append(fields)
    left_out = {
        "name_known": growth.known,
        "no_parent_known": growth.orphans,
        "deprecated": growth.deprecated,
    }
    facts = {
        "queries": len(growth.queries.concepts),
        "left_out": left_out,
        "anchors": len(growth.taxonomy),
        "known_name_in_label": overlap_hits(growth, ranks, options.averaging).as_dict(),
    }
    settings = {name: getattr(options, name) for name in ("features", "seed", "averaging")}
    print_json({**facts, **settings, "methods": methods})


def _print_text(growth: Growth, results: Mapping[str, MethodResult], options: Options) -> None:
    from taxoexpan.evaluation.comparison import (
        aligned_text,
        compare,
        comparison_text,
        overlap_hits,
    )
    from taxoexpan.evaluation.confidence import confidence_table
    from taxoexpan.phrasing import pluralize
    from taxoexpan.placement.adding.acceptance import DEFAULT_MIN_CONFIDENCE

    ranks = {name: result.ranks for name, result in results.items()}
    print(
        f"{pluralize(len(growth.queries.concepts), 'new concept')} placed among "
        f"{len(growth.taxonomy):,} concepts; not placed: {growth.known:,} with a label that OLD "
        f"already has, {growth.orphans:,} without a parent in OLD, {growth.deprecated:,} deprecated"
        f"\n\n{comparison_text(compare(ranks, options.averaging))}\n"
        f"{overlap_hits(growth, ranks, options.averaging)}"
    )
    models = {name: each.confidence for name, each in results.items() if each.features is not None}
    if models:
        print(
            "\nConfidence in first suggestions: what expand accepts by default (a suitable parent "
            f"and a confidence of {DEFAULT_MIN_CONFIDENCE} or more), and with thresholds learned "
            f"on held-out concepts of OLD:\n\n{aligned_text(confidence_table(models))}",
            end="",
        )


def ranks_csv(
    growth: Growth, results: Mapping[str, MethodResult], keep_formulas: bool = False
) -> str:
    """Return one row per true parent of each query, with the rank by each method."""
    from taxoexpan.formats.tables.formulas import protect_row

    text, queries, taxonomy = io.StringIO(), growth.queries, growth.taxonomy
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["query", "query_id", "parent_id", "parent_label", *results])
    pairs = zip(queries.concepts, queries.parents, strict=True)
    for query, (concept, parents) in enumerate(pairs):
        for nth, parent in enumerate(parents.tolist()):
            columns = [f"{each.ranks[query][nth]:.15g}" for each in results.values()]
            names = [concept.label, concept.id, taxonomy.ids[parent], taxonomy.labels[parent]]
            writer.writerow([*protect_row(names, keep_formulas), *columns])
    return text.getvalue()
