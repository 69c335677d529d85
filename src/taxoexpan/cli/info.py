"""Print how a taxonomy or a model was read: its format, columns and languages, and its size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import open_taxonomy
from taxoexpan.cli.messages import print_json, print_line
from taxoexpan.cli.taxonomy_messages import print_language
from taxoexpan.option_declarations import argument, json_option
from taxoexpan.phrasing import percent, pluralize
from taxoexpan.shared_options import QuietOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.formats.taxonomy_file import TaxonomyFile

_MAX_ROOTS = 5
"""How many roots are named."""
_MAX_LISTED = 12
"""How many columns and languages the text lists; JSON has all."""
_SHARES = ("with_synonyms", "with_definition")
"""Figures that are also printed as a percentage of the concepts."""


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, QuietOptions):
    """The options of `info`."""

    taxonomy: Path = argument("TAXONOMY", "a taxonomy file, or a model directory")
    json: bool = json_option("print the figures")


def run(options: Options) -> int:
    """Print the counts."""
    from taxoexpan.model_directory import is_archive

    model = dict[str, object]()
    understood = dict[str, object]()
    if is_archive(options.taxonomy):
        from taxoexpan.archive import load_summary

        summary = load_summary(options.taxonomy)
        taxonomy = summary.taxonomy
        record = summary.training.as_dict()
        adapted = {"fine_tuned": summary.fine_tuned, "mapped": summary.mapped}
        model = {**record, **adapted, "signals": summary.signals}
        sizes = summary.training.concepts, summary.training.relations
        model["since_training"] = summary.growth.figures(*sizes)
        model["growth"] = summary.growth.sentence(sizes[0]) if summary.growth else "none"
    else:
        file = open_taxonomy(options.taxonomy, options)
        print_language(file)
        taxonomy = file.taxonomy
        understood = _understood(file)
    degrees = taxonomy.children_of.degrees
    largest = sorted(taxonomy.roots, key=lambda id: -len(taxonomy.children(id)))
    figures: dict[str, object] = {
        **understood,
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
        "largest_roots": [taxonomy.concept(id).label for id in largest[:_MAX_ROOTS]],
        "sample_path": list(taxonomy.path(taxonomy.ids[int(taxonomy.levels.argmax())])),
    }
    if model:
        figures["model"] = model
    if options.json:
        print_json(figures)
    else:
        for name, value in figures.items():
            text = _describe(name, value, len(taxonomy))
            if text and name != "model":
                print_line(f"{name.replace('_', ' '):<22}{text}")
        _print_model(model)
    return 0


def _understood(file: TaxonomyFile) -> dict[str, object]:
    """Return the format of a file, the columns of a table, and the languages of labels."""
    from taxoexpan.formats.tables.table import open_if_table

    table = open_if_table(file.file) if file.format.is_table else None
    columns: dict[int, str] = {}
    if table is not None and table.columns.has_relations:
        for name, index in table.columns.indices.items():
            columns.setdefault(index, name)
    languages = file.parsed.languages.labels if file.parsed.languages else {}
    counts = Counter({tag: len(labels) for tag, labels in languages.items()})
    return {
        "format": file.format.name,
        "columns": {name: table.header[i] for i, name in sorted(columns.items())} if table else {},
        "language": file.parsed.language,
        "languages": dict(counts.most_common()),
    }


def _describe(name: str, value: object, concepts: int) -> str:
    """Return a figure as text, or "" if there is nothing to print."""
    if isinstance(value, int):
        share = f"  ({percent(value / concepts)})" if name in _SHARES and value else ""
        return f"{value:>10,}{share}"
    if isinstance(value, Mapping):
        texts = [f"{key or 'none'}: {each}" for key, each in value.items()]
        return ", ".join([*texts[:_MAX_LISTED], *["…"] * (len(texts) > _MAX_LISTED)])
    if isinstance(value, list):
        return (" > " if name == "sample_path" else ", ").join(value)
    return str(value)


def _print_model(model: Mapping[str, object]) -> None:
    if not model:
        return
    validation = model["validation"]
    signals = model["signals"]
    if isinstance(validation, Mapping):
        figures = f"MR {validation['mr']:.1f}, Hit@1 {validation['hit_at_1']:.3f}, "
        figures += f"MRR {validation['reciprocal_rank']:.3f} (scaled {validation['mrr']:.3f}) on "
        figures += f"{validation['queries']:,} held-out leaves"
        print_line(f"{'validation':<22}{figures}")
    print_line(f"{'adapted encoder':<22}{_describe_adaptation(model)}")
    if isinstance(signals, Sequence):
        print_line(f"{'ranked by':<22}{', '.join(signals)}")
    since = model["since_training"]
    growth = str(model["growth"])
    if growth == "none":
        growth = "the taxonomy is the same as in the training"
    elif isinstance(since, Mapping) and since["training_advised"]:
        growth += "; train --from would rank better"
    print_line(f"{'since the training':<22}{growth}")


def _describe_adaptation(model: Mapping[str, object]) -> str:
    """Describe how the text encoder was adapted to the taxonomy."""
    epochs = model["tower_epochs"]
    mapped = "by linear maps and vectors of words" if model["mapped"] else ""
    if not model["fine_tuned"]:
        return mapped or "no"
    if epochs == 0:
        return "no; the fine-tuning was stopped before the end of its first epoch"
    # Models that were saved before the epochs were recorded have none.
    length = f" of {pluralize(epochs, 'epoch')}" if isinstance(epochs, int) else ""
    return f"by fine-tuning{length}{', and ' if mapped else ''}{mapped}"
