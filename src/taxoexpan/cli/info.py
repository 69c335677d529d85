"""Print counts of a taxonomy or a model: concepts, relations, roots, leaves, depth."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.arguments import add_taxonomy, read_taxonomy
from taxoexpan.cli.messages import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser, "a taxonomy file, or a model directory")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the counts."""
    model: dict[str, object] = {}
    if options.taxonomy.is_dir() and not _is_wordnet(options.taxonomy):
        from taxoexpan.archive import load_summary

        taxonomy, record = load_summary(options.taxonomy)
        model = record.as_dict()
    else:
        taxonomy = read_taxonomy(options.taxonomy, options)
    degrees = taxonomy.children_of.degrees
    figures: dict[str, object] = {
        "concepts": len(taxonomy),
        "relations": len(taxonomy.relations),
        "roots": len(taxonomy.roots),
        "leaves": len(taxonomy.leaves),
        "depth": taxonomy.depth,
        "isolated": int(((degrees + taxonomy.parents_of.degrees) == 0).sum()),
        "with_several_parents": int((taxonomy.parents_of.degrees > 1).sum()),
        "most_children": int(degrees.max(initial=0)),
        "with_synonyms": len(taxonomy.synonyms),
        "with_definition": len(taxonomy.definitions),
        "deprecated": len(taxonomy.deprecated),
    }
    if model:
        figures["model"] = model
    if options.json:
        print_json(figures)
    else:
        for name, value in figures.items():
            if isinstance(value, int):
                print(f"{name.replace('_', ' '):<22}{value:>10,}")
        _print_model(model)
    return 0


def _is_wordnet(directory: Path) -> bool:
    """Return whether a directory holds WordNet files, and not a model."""
    from taxoexpan.formats.text_file import TextFile
    from taxoexpan.formats.wordnet import wordnet_format

    return wordnet_format.can_read(TextFile.open(directory))


def _print_model(model: dict[str, object]) -> None:
    validation = model.get("validation")
    if isinstance(validation, dict):
        print(
            f"validation            MR {validation['mr']:.1f}, Hit@1 {validation['hit_at_1']:.3f}, "
            f"MRR {validation['mrr']:.3f} on {validation['queries']} held-out leaves"
        )
