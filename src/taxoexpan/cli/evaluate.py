"""Compare methods on two releases of a taxonomy: train on OLD, place the concepts added in NEW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from taxoexpan.cli.arguments import open_taxonomies
from taxoexpan.cli.glossaries import print_glossary
from taxoexpan.cli.messages import note, print_json, warn
from taxoexpan.errors import ConfigurationError
from taxoexpan.evaluation.methods import METHODS, default_methods, has_setting
from taxoexpan.option_declarations import (
    POSITIVE,
    SEED,
    argument,
    json_option,
    option,
    output_option,
    repeated,
    switch,
)
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import (
    SETTING,
    DeviceOptions,
    FeatureOptions,
    GlossaryOptions,
    QuietOptions,
    ReadingOptions,
)
from taxoexpan.thresholds import LIKELY, MIN_FOR_COMPARISON

if TYPE_CHECKING:
    from taxoexpan.evaluation.growth import Growth
    from taxoexpan.evaluation.results import MethodResult


def _listed(needs_clone: bool) -> str:
    """List the methods with their descriptions."""
    chosen = {name: each for name, each in METHODS.items() if each.needs_clone == needs_clone}
    return ", ".join(f"{name} ({each.description})" for name, each in chosen.items())


@dataclass(frozen=True, kw_only=True)
class Options(GlossaryOptions, FeatureOptions, ReadingOptions, DeviceOptions, QuietOptions):
    """The options of `evaluate`."""

    old: Path = argument("OLD", "old release: a taxonomy file")
    new: Path = argument("NEW", "new release, in any supported format")
    methods: str | None = option(
        f"comma-separated list of {_listed(False)}; in a clone also {_listed(True)}. A method of "
        f"your own is FILE.py:NAME (default: {','.join(default_methods())})",
        metavar="NAMES",
    )
    features: str | None = option(
        "encoder for all methods, as in train (default: each taxoexpan method uses the encoder "
        "of its preset, and the baselines use the encoder of the preset best)",
        metavar="ENCODER",
    )
    settings: tuple[str | tuple[str, Any], ...] = repeated(
        "override a setting of every method that has it, also of your own, for example "
        "hidden_dim=64; can be repeated",
        SETTING,
        metavar="NAME=VALUE",
        flags=("--set",),
    )
    seed: int = option("random seed, for reproducible results (default: 0)", 0, SEED)
    epochs: int | None = option(
        "maximum number of training epochs of every method that has this setting", None, POSITIVE
    )
    averaging: Literal["fraction", "any", "pooled"] = option(
        "how to score a concept with several true parents: fraction (average over its parents; "
        "default), any (only its best-ranked parent) or pooled (every pair of concept and parent "
        "counts separately)",
        "fraction",
        choices=("fraction", "any", "pooled"),
    )
    output: Path | None = output_option(
        "output CSV file with the rank of every true parent, by method"
    )
    force: bool = switch("overwrite existing output files")
    json: bool = json_option("print the results")


def run(options: Options) -> int:
    """Train each method on OLD, and compare its placements of the new concepts of NEW."""
    from taxoexpan.config import load_preset
    from taxoexpan.evaluation.growth import growth_between
    from taxoexpan.evaluation.methods import make_method
    from taxoexpan.evaluation.results import evaluate_methods
    from taxoexpan.features.embedding import warn_of_language
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.files import preflight, write_whole

    if options.output:
        inputs = filter(None, (options.old, options.new, options.glossary))
        preflight([options.output], list(inputs), options.force)
    names = _chosen(options.methods)
    changes = _changes(options, names)
    settings = _model_settings(changes)
    methods = {
        name: make_method(name, seed=options.seed, device=options.device, **settings)
        if name in METHODS and METHODS[name].is_model
        else make_method(name, **_own_settings(name, changes))
        for name in names
    }
    options = replace(options, features=load_preset("best", **settings).features)
    assert options.features is not None
    encoder = make_encoder(options.features, device=options.device)
    encoder.show_progress(not options.quiet)
    old, new = (file.taxonomy for file in open_taxonomies([options.old, options.new], options))
    warn_of_language(options.features, old.labels)
    growth = growth_between(old, new)
    if options.glossary:
        growth = _with_definitions(growth, options)
    count = len(growth.queries.concepts)
    if count < MIN_FOR_COMPARISON:
        few = pluralize(count, "new concept")
        warn(f"only {few} to place; with fewer than {MIN_FOR_COMPARISON}, figures vary by chance")

    def begin(name: str) -> None:
        note(f"{name}: training on {len(growth.taxonomy):,} concepts")

    progress = not options.quiet
    chosen = (encoder, options.seed, options.device, progress, begin)
    results = evaluate_methods(growth.queries, methods, *chosen)
    if options.output:
        text = ranks_csv(growth, results)
        write_whole({options.output: text.encode()}, options.force)
        note(f"{options.output} written: all ranks")
    (_print_json if options.json else _print_text)(growth, results, options)
    return 0


def _with_definitions(growth: Growth, options: Options) -> Growth:
    """Look up definitions of the old and the new concepts in a glossary."""
    from taxoexpan.features.glossary.glossary import look_up_definitions

    queries = growth.queries
    path = options.glossary
    progress = not options.quiet
    assert path is not None
    found = look_up_definitions(path, queries.taxonomy, queries.concepts, progress)
    matches = {"concepts": found.taxonomy_matches, "new concepts": found.new_matches}
    print_glossary(path, found.glossary, matches)
    defined = replace(queries, taxonomy=found.taxonomy, concepts=tuple(found.new))
    return replace(growth, queries=defined)


def _chosen(names: str | None) -> Sequence[str]:
    """Return the names of the chosen methods."""
    given = names.split(",") if names else default_methods()
    return list(dict.fromkeys(map(str.strip, given)))


def _changes(options: Options, methods: Sequence[str]) -> dict[str, Any]:
    """Return the changed settings; refuse one that no chosen method has."""
    from taxoexpan.config import parse_changes

    given = {"epochs": options.epochs, "features": options.features}
    changes = parse_changes(options.settings, given)
    for setting in changes:
        if setting != "features" and not any(has_setting(name, setting) for name in methods):
            message = f"none of the chosen methods has the setting {setting!r}"
            fix = "taxoexpan evaluate --help lists those of the package's methods"
            raise ConfigurationError(message, fix=fix)
    return changes


def _model_settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those changes that models have a setting for."""
    from taxoexpan.config import SETTINGS

    return {name: value for name, value in changes.items() if name in SETTINGS}


def _own_settings(method: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those changes that another method has a setting for; all share one encoder."""
    others = {name: value for name, value in changes.items() if name != "features"}
    return {name: value for name, value in others.items() if has_setting(method, name)}


def _print_json(growth: Growth, results: Mapping[str, MethodResult], options: Options) -> None:
    from taxoexpan.evaluation.comparison import compare, overlap_hits

    ranks = {name: result.ranks for name, result in results.items()}
    methods = []
    for name, figures in compare(ranks, options.averaging).items():
        fields: dict[str, Any] = {"method": name, "figures": figures}
        result = results[name]
        if result.features is not None:
            confidence = None if result.confidence is None else asdict(result.confidence)
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
        "known_name_in_label": asdict(overlap_hits(growth, ranks, options.averaging)),
    }
    settings = {name: getattr(options, name) for name in ("features", "seed", "averaging")}
    print_json({**facts, **settings, "methods": methods})


def _print_text(growth: Growth, results: Mapping[str, MethodResult], options: Options) -> None:
    from taxoexpan.evaluation.comparison import (
        aligned_text,
        compare,
        comparison_table,
        overlap_hits,
    )
    from taxoexpan.evaluation.confidence import confidence_table, placement_table

    ranks = {name: result.ranks for name, result in results.items()}
    print(
        f"{pluralize(len(growth.queries.concepts), 'new concept')} placed among "
        f"{len(growth.taxonomy):,} concepts; not placed: {growth.known:,} with a label that OLD "
        f"already has, {growth.orphans:,} without a parent in OLD, {growth.deprecated:,} deprecated"
        f"\n\n{aligned_text(comparison_table(compare(ranks, options.averaging)))}\n"
        f"{overlap_hits(growth, ranks, options.averaging)}"
    )
    models = {name: each.confidence for name, each in results.items() if each.features is not None}
    if any(models.values()):
        print(
            "\nPlaced as deep as is sure (expand's default is truth 0.9), or by exact parents with "
            f"a confidence of {LIKELY} or more:\n\n{aligned_text(placement_table(models))}",
            end="",
        )
    elif models:
        print(f"\nWhat expand would place is not known: {_missing(growth, [*models], options)}")
    if models:
        print(
            "\nConfidence in first suggestions, and exact parents accepted at thresholds learned "
            f"on held-out concepts of OLD:\n\n{aligned_text(confidence_table(models))}",
            end="",
        )


def _missing(growth: Growth, models: Sequence[str], options: Options) -> str:
    """Return why no model has a confidence."""
    from taxoexpan.config import load_preset, parse_changes
    from taxoexpan.placement.learned.calibrators import missing_confidence

    changes = parse_changes(options.settings, {"epochs": options.epochs})
    settings = _model_settings({"features": options.features, **changes})
    presets = [str(METHODS[name].settings["preset"]) for name in models]
    configs = [load_preset(preset, **settings) for preset in presets]
    reasons = [missing_confidence(growth.taxonomy, config) for config in configs]
    return next(filter(None, reasons), "the models have no confidence")


def ranks_csv(growth: Growth, results: Mapping[str, MethodResult]) -> str:
    """Return a table with one row per query and true parent, with its rank by each method."""
    from taxoexpan.formats.tables.formulas import protect_cells
    from taxoexpan.formats.tables.table import csv_text

    queries = growth.queries
    taxonomy = growth.taxonomy
    rows = []
    for query, concept in enumerate(queries.concepts):
        for nth, parent in enumerate(queries.parents[query].tolist()):
            names = {
                "query": concept.label,
                "query_id": concept.id,
                "parent_id": taxonomy.ids[parent],
                "parent_label": taxonomy.labels[parent],
            }
            ranks = {name: f"{each.ranks[query][nth]:.15g}" for name, each in results.items()}
            rows.append({**protect_cells(names), **ranks})
    return csv_text(["query", "query_id", "parent_id", "parent_label", *results], rows)
